static void put(uint64_t value, int bytes)
{
    int i;
    for (i = 0; i < bytes; ++i) putchar((int)(value >> (8 * i) & 255));
}

static void show(const char *layer, const void *codes, size_t count, int bytes, void *user)
{
    size_t i;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    (void)user;
    put(strlen(layer), 4);
    fputs(layer, stdout);
    put(count, 4);
    put((uint64_t)bytes, 4);
    for (i = 0; i < count; ++i) {
        const unsigned char *const from = (const unsigned char *)codes + i * (size_t)bytes;
        if (bytes == 1) {
            memcpy(&u8, from, 1);
            put(u8, 1);
        } else if (bytes == 2) {
            memcpy(&u16, from, 2);
            put(u16, 2);
        } else if (bytes == 4) {
            memcpy(&u32, from, 4);
            put(u32, 4);
        } else {
            memcpy(&u64, from, 8);
            put(u64, 8);
        }
    }
}

/* Reads elements from standard input in little-endian byte order. Returns 0 at its end. */
static int get(void *to, size_t count, int bytes)
{
    size_t i;
    int k;
    for (i = 0; i < count; ++i) {
        unsigned char *const element = (unsigned char *)to + i * (size_t)bytes;
        uint64_t bits = 0;
        uint32_t u32;
        uint16_t u16;
        for (k = 0; k < bytes; ++k) {
            const int byte = getchar();
            if (byte == EOF) return 0;
            bits |= (uint64_t)byte << (8 * k);
        }
        u32 = (uint32_t)bits;
        u16 = (uint16_t)bits;
        if (bytes == 1) {
            *element = (unsigned char)bits;
        } else if (bytes == 2) {
            memcpy(element, &u16, 2);
        } else if (bytes == 4) {
            memcpy(element, &u32, 4);
        } else {
            memcpy(element, &bits, 8);
        }
    }
    return 1;
}

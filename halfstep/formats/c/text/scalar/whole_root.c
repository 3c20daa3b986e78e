/* The largest integer whose square is at most v, computed bit by bit. Requires v < 2^62. */
static int64_t whole_root(int64_t v)
{
    int64_t root = 0, bit = (int64_t)1 << 60;
    for (; bit > 0; bit /= 4) {
        const int64_t tried = root + bit;
        root /= 2;
        if (v >= tried) {
            v -= tried;
            root += bit;
        }
    }
    return root;
}

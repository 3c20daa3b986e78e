/* A function as a table. Codes outside the table have its first or last entry. */
static void @lookup@(const @x@ *x, const @t@ *table, @y@ *y, int32_t count, int32_t first, int32_t last)
{
    int32_t i;
    for (i = 0; i < count; ++i) {
        const int32_t place = (int32_t)x[i] - first;
        y[i] = (@y@)table[place < 0 ? 0 : place > last ? last : place];
    }
}

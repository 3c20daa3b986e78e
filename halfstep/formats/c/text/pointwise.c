/* @what@ */
static void @function@(const @from@ *restrict from, @to@ *restrict y, int32_t count)
{
    int32_t i;
    for (i = 0; i < count; ++i) {
        const @from@ @port@ = from[i];
        y[i] = @expression@;
    }
}

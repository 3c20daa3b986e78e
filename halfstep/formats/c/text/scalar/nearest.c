/* The nearest whole number, of two the even one; beyond 2^20, where no code is, that. */
static int32_t nearest(float v)
{
    const float most = 1048576.0f, units = 12582912.0f; /* 1.5 * 2^23: the numbers around it are whole */
    const float near = v > most ? most : v < -most ? -most : v;
    const float raised = near + units;
    return (int32_t)(raised - units);
}

static void fill_@x_tag@(@x@ *to, int32_t count, @x@ value)
{
    int32_t i;
    for (i = 0; i < count; ++i) to[i] = value;
}

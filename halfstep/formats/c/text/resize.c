/* Resampling with integer weights along up to four axes. */
static void @resize@(const @x@ *restrict x, @y@ *restrict y, const taps *s, int32_t zero, const @scale@ *q)
{
    int32_t i[4], k[4], at[4], a;
    for (i[0] = 0; i[0] < s[0].count; ++i[0]) {
        for (i[1] = 0; i[1] < s[1].count; ++i[1]) {
            for (i[2] = 0; i[2] < s[2].count; ++i[2]) {
                for (i[3] = 0; i[3] < s[3].count; ++i[3]) {
                    @sum@ sum = 0;
                    for (k[0] = 0; k[0] < s[0].width; ++k[0]) {
                        for (k[1] = 0; k[1] < s[1].width; ++k[1]) {
                            for (k[2] = 0; k[2] < s[2].width; ++k[2]) {
                                for (k[3] = 0; k[3] < s[3].width; ++k[3]) {
                                    int32_t place = 0;
                                    @sum@ weight = 1;
                                    for (a = 0; a < 4; ++a) {
                                        at[a] = i[a] * s[a].width + k[a];
                                        place += s[a].place[at[a]];
                                        weight *= s[a].weight[at[a]];
                                    }
                                    sum += ((int32_t)x[place] - zero) * weight;
                                }
                            }
                        }
                    }
                    *y++ = (@y@)@code@(sum, q, 0);
                }
            }
        }
    }
}

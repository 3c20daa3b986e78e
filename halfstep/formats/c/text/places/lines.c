/* Lines of elements along one axis, and the loops over the lines. */
typedef struct {
    int32_t count[4], x_step[4], y_step[4], extent, x_along, y_along;
} lines;

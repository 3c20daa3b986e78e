/* Loops over indices along one axis of x. */
typedef struct {
    int32_t count[4], index_step[4], step[4], x_step[4], extent, along;
} elements;

/* Extents of a result and strides of both operands: 0 along an axis that is broadcast. */
typedef struct {
    int32_t count[4], a_step[4], b_step[4];
} broadcast;

/* Extents and strides of matrix products. */
typedef struct {
    int32_t count[2], a_batch[2], b_batch[2], y_batch[2]; /* for batches of matrices */
    int32_t rows, columns, length;
    int32_t a_row, a_step, b_column, b_step, y_row, y_column;
} product;

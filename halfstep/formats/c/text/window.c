/* A window over images with channels as the last axis. */
typedef struct {
    int32_t images, height, width, channels;
    int32_t out_height, out_width, outputs;
    int32_t kernel_height, kernel_width, stride_y, stride_x, dilation_y, dilation_x;
    int32_t top, left; /* padding */
    int32_t groups;
} window;

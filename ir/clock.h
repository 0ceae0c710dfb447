/* The clock that compile stages are timed with. */
#ifndef WS_IR_CLOCK_H
#define WS_IR_CLOCK_H

/* CPU time of the calling thread, in milliseconds. */
double ws_thread_cpu_ms(void);

#endif

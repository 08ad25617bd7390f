/* Devices, streams, events. A device is named by value; streams and events are objects of whoever made them. */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

#include <weft/base.h>

WF_EXTERN_C_BEGIN

/** Reads "cpu", "sim", "sim:1", "cuda:0"; index 0 where none is given. Errors: WF_RUNTIME for another text. Doesn't open the device. */
WF_API wf_status wf_device_parse(const char *text, wf_device *device);
/** "cpu", "sim:0". Writes at most `size` bytes with the end, returns `buffer`. */
WF_API char *wf_device_name(wf_device device, char *buffer, size_t size);
/** Number of devices of a type that this process can open: cpu 1, sim 1 or more, cuda 0 without a driver. */
WF_API int wf_device_count(wf_device_type type);
/** Opens the device if it isn't open yet. Errors: WF_DEVICE when it isn't there, with what to do in the hint. */
WF_API wf_status wf_device_open(wf_device device);
/** Waits for all work on all streams of the device and reports its asynchronous fault, if any (WF_DEVICE). Sync. */
WF_API wf_status wf_device_sync(wf_device device);
/** Bytes of device memory in all; 0 for cpu. */
WF_API size_t wf_device_total_memory(wf_device device);
/** Whether times measured on devices of this type are a model's, not a machine's; whoever prints them says so. true for sim. */
WF_API bool wf_device_is_emulated(wf_device device);
/** What the device is and how it is set, in a line: "emulated: 16 GiB, link pcie3x16 (12 GB/s, 8 us)". Opens the device. Writes at
 *  most `size` bytes with the end, returns `buffer`; "" on error. */
WF_API char *wf_device_describe(wf_device device, char *buffer, size_t size);

typedef struct wf_stream wf_stream;
typedef struct wf_event wf_event;

/** A new stream of the device; yours, free it with wf_stream_free. NULL on error. priority: 0 normal, -1 high. */
WF_API wf_stream *wf_stream_new(wf_device device, int priority);
/** Waits for the stream's work and frees it; it may be current on this thread, but on no other. NULL is accepted; the default stream
 *  isn't freed. Sync. */
WF_API void wf_stream_free(wf_stream *stream);
/** The stream on which this thread enqueues work for the device. Borrowed. The default stream until set. NULL on error. */
WF_API wf_stream *wf_stream_current(wf_device device);
/** The stream that every device has and that work goes to unless wf_stream_set said otherwise. Borrowed. NULL on error. */
WF_API wf_stream *wf_stream_default(wf_device device);
/** Makes `stream` the current one of this thread for its device and returns the one before. */
WF_API wf_stream *wf_stream_set(wf_stream *stream);
/** Waits until all work enqueued so far is done. Surfaces the device's asynchronous fault. Sync. */
WF_API wf_status wf_stream_sync(wf_stream *stream);
/** Whether all work enqueued so far is done. */
WF_API bool wf_stream_query(wf_stream *stream);
/** Work enqueued on `stream` from now on waits for `event`'s last record. A never-recorded event: no wait. */
WF_API wf_status wf_stream_wait(wf_stream *stream, wf_event *event);

/** A new event for streams of the device; yours. timing: whether wf_event_elapsed_ms may be asked. NULL on error. */
WF_API wf_event *wf_event_new(wf_device device, bool timing);
/** Frees the event; may be pending. NULL is accepted. */
WF_API void wf_event_free(wf_event *event);
/** Marks the present end of the stream's queue; an earlier record is forgotten. */
WF_API wf_status wf_event_record(wf_event *event, wf_stream *stream);
/** Whether the last record is done; true if never recorded. */
WF_API bool wf_event_query(wf_event *event);
/** Waits for the last record; returns at once if never recorded. Sync. */
WF_API wf_status wf_event_sync(wf_event *event);
/** Milliseconds between two recorded events that are done. Errors: WF_VALUE when made without timing or never recorded, WF_RUNTIME
 *  when not done or of two kinds of device. */
WF_API wf_status wf_event_elapsed_ms(wf_event *start, wf_event *end, double *ms);

WF_EXTERN_C_END
#endif

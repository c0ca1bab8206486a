/* Inside the mpi fabric. Two threads share it:
 *
 *   the loop's thread      interface (fabric.c), messages of a send (outgoing.c), events to the user (deliver.c)
 *   the progress thread    all else; only it calls MPI, from MPI_Init to MPI_Finalize, and it owns the sockets
 *
 * MPI may block the progress thread for long: Open MPI sleeps for a second to report a broken connection of its own. So
 * the loop's thread also looks for ends of links (watch.c), by descriptors of its own, and tells the user that a stream
 * fails.
 *
 * Payloads are MPI messages, in order per pair of nodes, on a communicator of the fabric. Each stream also has a TCP
 * connection, its link, for the handshake, the end of the stream, and sleeping. Messages of a pair are counted in each
 * direction, over all its streams; the counts are exchanged on the link, and tell messages of an ended stream from
 * those of the next one.
 *
 * Sleeping. The progress thread polls MPI while it has cause to; else it sleeps in ppoll on its sockets. Per direction,
 * with S sending messages and R receiving them:
 *
 *   R -> S   SLEEP(matched, taken)   R sleeps from now on, and has seen matched messages
 *   S -> R   WAKE(posted)            there are posted messages; sent before the first message to a sleeping R, or at
 * once if SLEEP shows that messages were under way
 *
 * They alternate on each link, beginning with R awake: R sends SLEEP once per WAKE, S sends WAKE once per SLEEP. R does
 * not sleep while it has seen fewer messages than it was told of. So either S knows that R sleeps and wakes it, or R is
 * awake; if both send at once, SLEEP shows S that R does not know of all messages. tests/model/mpi_sleep.pml is a model
 * of it. S stays awake until R has taken all messages (TAKEN(taken), also in SLEEP), as MPI may hold back what it
 * reports as sent. The same count is the window that bounds what waits at a slow receiver. */
#ifndef SFD_NET_FABRIC_MPI_INTERNAL_H
#define SFD_NET_FABRIC_MPI_INTERNAL_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/net/fabric/fabric.h"

#define SFD_MPI_PIECE (16u << 10) /* smaller pieces are gathered */
#define SFD_MPI_SMALL                                                                                                  \
  (64u << 10)                     /* gathered messages; up to this size the progress thread receives without the user  \
                                   */
#define SFD_MPI_CHUNK (16u << 20) /* larger pieces are split: limits bounce buffers, and is below MPI's counts */
#define SFD_MPI_WINDOW 32         /* messages sent and not taken, per direction of a pair */

#define SFD_MPI_TICK_NS 1000000          /* time awake after the last message; interval of other checks */
#define SFD_MPI_NUDGE_NS 5000000         /* interval of waking the receiver of a send that does not end */
#define SFD_MPI_HANDSHAKE_NS 3000000000u /* per address */
#define SFD_MPI_END_NS 5000000000u       /* limit for all that the end of a stream waits for */
#define SFD_MPI_TOKEN 32                 /* bytes */
#define SFD_MPI_ADDRESSES 8

/* ---- What the daemons tell each other ---- */

/* Address at which a daemon accepts links. Exchanged through MPI. */
typedef struct sfd_mpi_place {
  char host[64];
  uint16_t port; /* host byte order; 0: no links */
  uint16_t naddresses;
  uint16_t family[SFD_MPI_ADDRESSES]; /* AF_INET or AF_INET6 */
  uint8_t address[SFD_MPI_ADDRESSES][16];
} sfd_mpi_place_t;

/* At start each node gives each other one a token through MPI. A connecting node shows the one that it was given. */
typedef struct sfd_mpi_token {
  uint8_t bytes[SFD_MPI_TOKEN];
} sfd_mpi_token_t;

#define SFD_MPI_MAGIC 0x4d444653u /* "SFDM" */
#define SFD_MPI_VERSION 1u

/* First on a link, by the connecting side; the answer is one too. Daemons of an MPI job have the same byte order. */
typedef struct sfd_mpi_hello {
  uint32_t magic;
  uint32_t version;
  int32_t from;
  int32_t to;
  uint32_t crossed; /* answer: use the sender's own connection, which is on its way */
  uint32_t attempt; /* counts the sender's hellos to this node without answers; older ones are given up */
  uint64_t posted;  /* messages sent so far, of earlier streams */
  sfd_mpi_token_t token;
} sfd_mpi_hello_t;
_Static_assert(sizeof(sfd_mpi_hello_t) == 64, "version 1");

typedef enum sfd_mpi_record_kind {
  SFD_MPI_READY = 1, /* by the connecting side: it has the answer. The other side sends no message before */
  SFD_MPI_SLEEP,
  SFD_MPI_WAKE,
  SFD_MPI_TAKEN,
  SFD_MPI_BYE, /* the stream is over; posted. Only the end of the connection follows, when all has been received */
} sfd_mpi_record_kind_t;

/* All after the hellos. */
typedef struct sfd_mpi_record {
  uint32_t kind;
  uint32_t zero;
  uint64_t count; /* matched (SLEEP) or posted (WAKE, BYE) */
  uint64_t taken; /* SLEEP, TAKEN */
} sfd_mpi_record_t;
_Static_assert(sizeof(sfd_mpi_record_t) == 24, "version 1");

/* ---- What the threads tell each other ---- */

/* From the progress thread to the user, in one queue per peer, so in order. */
typedef enum sfd_mpi_event_kind { SFD_MPI_UP, SFD_MPI_DOWN, SFD_MPI_DATA } sfd_mpi_event_kind_t;

typedef struct sfd_mpi_event {
  struct sfd_mpi_event *next;
  sfd_mpi_event_kind_t kind;
  void *of; /* a link, or an item of data */
} sfd_mpi_event_t;

/* One MPI message that arrives.
 *
 *   small    RECEIVING -> DONE
 *   large    ARRIVED -> ASKED (the loop's thread asks the user for memory) -> PLACED -> RECEIVING -> DONE
 *
 * The state is under the lock. RECEIVING belongs to the progress thread, DONE to the loop's. */
typedef enum sfd_mpi_item_state {
  SFD_MPI_ARRIVED,
  SFD_MPI_ASKED,
  SFD_MPI_PLACED,
  SFD_MPI_RECEIVING,
  SFD_MPI_DONE
} sfd_mpi_item_state_t;

typedef struct sfd_mpi_item {
  sfd_mpi_event_t event;
  struct sfd_mpi_item *next; /* in a list of the progress thread, or of unused items */
  struct sfd_mpi_peer *peer;
  sfd_mpi_item_state_t state;
  bool direct;  /* buffer is the user's */
  bool dropped; /* RECEIVING, and will be thrown away */
  size_t len;
  MPI_Message message;
  MPI_Request request;
  void *buffer; /* where it is received */
  void *bounce; /* allocated for this message; NULL: none */
  uint8_t own[SFD_MPI_SMALL];
} sfd_mpi_item_t;

/* ---- Links and peers ---- */

/*   connecting -> greeting -> up -> ending        connecting side
 *        guest [-> waiting] -> up -> ending       accepting side
 *
 * waiting: the peer has begun again before the old stream was over here. */
typedef enum sfd_mpi_link_state {
  SFD_MPI_CONNECTING,
  SFD_MPI_GREETING,
  SFD_MPI_GUEST,
  SFD_MPI_WAITING,
  SFD_MPI_OPEN,
  SFD_MPI_ENDING
} sfd_mpi_link_state_t;

/* A stream and its TCP connection; all but the first part belongs to the progress thread. */
typedef struct sfd_mpi_link {
  bool of_loop;     /* under the lock: known to the loop's thread, or has an undelivered event */
  bool of_progress; /* under the lock; freed when neither is set */
  sfd_mpi_event_t up;
  sfd_mpi_event_t down;
  int watch_fd;       /* under the lock until up is delivered, then the loop's; -1: none */
  bool quits;         /* under the lock: a side ends the stream regularly, or the loop's thread knows */
  sf_status_t status; /* of down */
  char detail[320];

  struct sfd_mpi_link *next; /* in the list of all links */
  struct sfd_mpi_peer *peer; /* NULL: a guest before its hello */
  sfd_mpi_link_state_t state;
  int fd;            /* -1: none */
  uint64_t deadline; /* 0: none */
  unsigned address;  /* connecting: the next one to try */
  bool ready;        /* messages may be sent */
  bool silent;       /* ending: the user ended it, and gets no events */
  bool cut;          /* ending: a message was left out, and so are all later ones */
  bool over;         /* ending: none of the user's memory is in use, and the user knows */
  bool bye;          /* the peer's BYE was read */
  uint64_t last;     /* count in BYE */
  bool shut;         /* this side's end was sent */
  bool ended;        /* the peer's end was read */
  uint64_t first;    /* messages of the peer up to this one are of earlier streams */
  bool peer_sleeps;  /* SLEEP was received, WAKE not sent */
  bool told_sleep;   /* SLEEP was sent, WAKE not received */
  size_t nin;
  uint8_t in[512];
} sfd_mpi_link_t;

/* The loop's watch for the end of a link. */
typedef struct sfd_mpi_watch {
  uv_poll_t poll;
  struct sfd_mpi *mpi;
  struct sfd_mpi_peer *peer;
  int fd;
} sfd_mpi_watch_t;

typedef struct sfd_mpi_outgoing {
  const void *data;
  size_t len;
} sfd_mpi_outgoing_t;

typedef struct sfd_mpi_peer {
  int32_t node;

  /* The loop's thread. */
  sfd_mpi_link_t *current; /* stream of the user; NULL: none */
  sfd_mpi_watch_t *watch;  /* NULL: none */
  bool refused;            /* the user reads no more */
  bool no_memory;          /* connecting has failed; down is due */
  unsigned taken_unsaid;   /* items taken since the progress thread was told */

  /* Messages of the send: written by the loop's thread without a send under way, read by the progress thread with one.
   * */
  sfd_mpi_outgoing_t *outgoing;
  unsigned noutgoing, outgoing_size;
  uint8_t *gathered;
  size_t gathered_size;

  /* Under the lock. */
  struct sfd_mpi_peer *next_command, *next_notice;
  bool commanded, noticed; /* in the list */
  sfd_mpi_link_t *connect; /* command: connect */
  sfd_mpi_link_t *send;    /* command: send outgoing, if this is still the stream */
  sfd_mpi_link_t *fail;    /* command: end this stream, as there is no memory for its next message */
  bool disconnect;         /* command; cleared when executed */
  sfd_mpi_link_t *sent;    /* notice: the send is over */
  sfd_mpi_event_t *events, **events_end;

  _Atomic uint64_t taken; /* messages of the peer that the user has, or that were dropped */

  /* The progress thread. */
  sfd_mpi_link_t *link;    /* the stream from its beginning to its end; NULL: none */
  sfd_mpi_link_t *waiting; /* the next one */
  uint32_t attempts;       /* hellos sent to connect */
  uint32_t seen_attempt;   /* the peer's last attempt */
  uint64_t posted;         /* messages sent */
  uint64_t acked;          /* of these, taken by the peer */
  uint64_t matched;        /* messages seen of the peer */
  uint64_t told;           /* the peer's count of them */
  uint64_t told_taken;     /* last sent value of taken */
  uint64_t last_sent_ns, last_seen_ns;
  bool quitting; /* disconnect was seen */
  bool sending;
  unsigned next_outgoing;
  unsigned nrequests, first_request; /* ring of sends under way */
  bool active;                       /* in the list of peers with sends */
  struct sfd_mpi_peer *next_active;
  unsigned ndirect; /* receives under way into memory of the user */
  MPI_Request requests[SFD_MPI_WINDOW];
} sfd_mpi_peer_t;

typedef struct sfd_mpi_items {
  sfd_mpi_item_t *first, **end;
} sfd_mpi_items_t;

typedef struct sfd_mpi {
  sfd_fabric_t fabric;
  sfd_mpi_peer_t *peers;         /* by node */
  const sfd_mpi_place_t *places; /* by node; constant after the start */

  /* The loop's thread. */
  uv_async_t async;
  pthread_t thread;
  bool closing;

  pthread_mutex_t lock;
  pthread_cond_t obeyed; /* after a disconnect, or the start */

  /* Under the lock. */
  bool started, go; /* the start has ended; the thread may begin its work */
  sf_status_t start_status;
  char start_detail[512];
  sfd_mpi_peer_t *commands; /* peers with commands */
  sfd_mpi_peer_t *notices, **notices_end;
  bool close, finish; /* commands */
  bool closed;        /* notice */
  bool asleep;        /* the progress thread waits, or is about to: write to wake_fd */
  sfd_mpi_item_t *unused;
  unsigned nunused;

  _Atomic bool commanded; /* there are commands; set under the lock */

  /* The progress thread. */
  int *argc;
  char ***argv;
  MPI_Comm comm;
  int epoll_fd, wake_fd, listen_fd;
  const sfd_mpi_token_t *given; /* by node: shown to this one */
  const sfd_mpi_token_t *shown; /* by node: shown by this one */
  sfd_mpi_link_t *links;
  sfd_mpi_item_t *spare;  /* for the next message */
  sfd_mpi_peer_t *active; /* with sends under way */
  sfd_mpi_items_t receiving;
  sfd_mpi_items_t discards; /* messages to throw away, one at a time */
  bool discarding;
  void *scratch;    /* memory for these */
  uint64_t now_ns;  /* of this pass */
  uint64_t last_ns; /* of the last event */
  uint64_t tick_ns; /* of the last checks */
  bool ending;      /* close was called */
} sfd_mpi_t;

/* ---- start.c, address.c: the beginning, on the progress thread ---- */

/* Initializes MPI, listens, and exchanges addresses and tokens. If one node can't listen, all fail. */
sf_status_t sfd_mpi_start(sfd_mpi_t *mpi);

/* Bytes that are equal on processes that share a loopback interface. */
void sfd_mpi_reachability(uint8_t bytes[64]);

/* Listens, on loopback or on all addresses, and fills in the address but for the host. */
sf_status_t sfd_mpi_listen(bool loopback_only, int *fd_p, sfd_mpi_place_t *place);

/* ---- progress.c: the thread ---- */

void *sfd_mpi_progress(void *mpi);

/* Wakes the progress thread if it sleeps; under the lock. */
void sfd_mpi_wake(sfd_mpi_t *mpi);

/* ---- commands.c: what the threads ask of each other ---- */

/* Under the lock, by the loop's thread: there are commands for this peer, or (NULL) the fabric. */
void sfd_mpi_command(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* Under the lock, by the progress thread: there are notices of this peer, or (NULL) the fabric. */
void sfd_mpi_notify(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* Under the lock: appends an event. */
void sfd_mpi_append(sfd_mpi_peer_t *peer, sfd_mpi_event_t *event);

/* Executes commands; returns whether there were any. */
bool sfd_mpi_obey(sfd_mpi_t *mpi);

/* NULL: no memory. */
sfd_mpi_item_t *sfd_mpi_item_new(sfd_mpi_t *mpi);

/* Under the lock. */
void sfd_mpi_item_free(sfd_mpi_t *mpi, sfd_mpi_item_t *item);

/* ---- transfer.c: messages, on the progress thread ---- */

/* Sends what the window allows. */
void sfd_mpi_post(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* Return whether something happened. */
bool sfd_mpi_test_sends(sfd_mpi_t *mpi);
bool sfd_mpi_match(sfd_mpi_t *mpi);
bool sfd_mpi_test_receives(sfd_mpi_t *mpi);

/* Receives a message that has memory now. */
void sfd_mpi_receive(sfd_mpi_t *mpi, sfd_mpi_item_t *item);

/* Removes data from the peer's events: all, or what is not received without the user. */
void sfd_mpi_cut(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, bool all);

/* ---- stream.c: beginning and end of streams, on the progress thread ---- */

/* The peer is authenticated on this link. */
void sfd_mpi_stream_open(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Ends the stream: without event, or with a status and text for the user. Tells the peer. */
void sfd_mpi_stream_quit(sfd_mpi_t *mpi, sfd_mpi_link_t *link);
void sfd_mpi_stream_fail(sfd_mpi_t *mpi, sfd_mpi_link_t *link, sf_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Continues ends of streams. */
void sfd_mpi_stream_check(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* ---- link.c, greet.c: TCP, on the progress thread ---- */

sfd_mpi_link_t *sfd_mpi_link_new(void); /* any thread; NULL: no memory */

/* Gives it to the progress thread. */
void sfd_mpi_link_add(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Closes the connection. */
void sfd_mpi_link_close(const sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Closes and releases it. */
void sfd_mpi_link_remove(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Under the lock: one thread less has it. */
void sfd_mpi_link_release(sfd_mpi_link_t *link, bool *of_whom);

/* Returns whether the kernel took all bytes. Buffers are full only if the other side has stopped reading. */
bool sfd_mpi_link_write(sfd_mpi_link_t *link, const void *bytes, size_t len);

/* Sends a record on an open link. An error ends the stream at the next event of the link. */
void sfd_mpi_say(sfd_mpi_link_t *link, sfd_mpi_record_kind_t kind, uint64_t count, uint64_t taken);

/* Sends the count of taken messages if it has changed. The link must be open. */
void sfd_mpi_say_taken(sfd_mpi_peer_t *peer);

/* Watches the link's socket for input, and for the connection to be made. */
bool sfd_mpi_link_watch(sfd_mpi_t *mpi, sfd_mpi_link_t *link, bool connecting);

/* The socket has an event. */
void sfd_mpi_link_event(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Connects to the next address of the link's peer. */
void sfd_mpi_connect_next(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* The connection was made, or failed. */
void sfd_mpi_connected(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Accepts a connection. */
void sfd_mpi_accept(sfd_mpi_t *mpi);

/* Answers a guest. */
bool sfd_mpi_welcome(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* The peer's hello; returns whether the link still exists and is to be read. */
bool sfd_mpi_greeted(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_hello_t *hello);

/* ---- outgoing.c, deliver.c, watch.c: the loop's thread ---- */

/* Turns pieces into messages; false: no memory. */
bool sfd_mpi_plan(sfd_mpi_peer_t *peer, const struct iovec iov[], int niov);

/* Calls the user's events. */
void sfd_mpi_deliver(uv_async_t *async);

/* Begins or ends watching the link of the peer's stream; failure is ignored. */
void sfd_mpi_watch(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);
void sfd_mpi_unwatch(sfd_mpi_peer_t *peer);

/* Text about a node. */
void sfd_mpi_describe(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size);

#endif

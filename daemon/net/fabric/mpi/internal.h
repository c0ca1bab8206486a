/* The mpi fabric from inside. Two threads share it:
 *
 *   the loop's thread      the interface (fabric.c), plans of what is sent (outgoing.c), events to the user (deliver.c)
 *   the progress thread    everything else; it alone calls MPI, from MPI_Init to MPI_Finalize, and owns the sockets
 *
 * MPI may keep the progress thread for as long as it likes: Open MPI sleeps for a second when one of its own
 * connections breaks, to report that. So the loop's thread looks for ends of links as well (watch.c), through
 * descriptors of its own, and tells the user that the stream is failing; the rest is as ever.
 *
 * Payloads travel as MPI messages, in order per pair of nodes, on a communicator of the fabric's own. Beside them there
 * is one TCP connection per stream, its link: it carries the handshake that begins the stream, the end of the stream,
 * and what lets both sides sleep. Messages of a pair are counted in each direction, over all streams that the pair ever
 * has: the counts are what the two sides tell each other on the link, and they tell messages of an ended stream from
 * those of the next.
 *
 * Sleeping. The progress thread polls MPI while it has cause to; else it sleeps in ppoll on its sockets. Per direction,
 * with S sending messages and R receiving them:
 *
 *   R -> S   SLEEP(matched, taken)   I sleep from now on, having seen so many of your messages
 *   S -> R   WAKE(posted)            there are so many; goes before the first message sent to a sleeper, or at once if
 *                                    SLEEP shows that messages were under way
 *
 * They take turns on each link, beginning with R awake: R says SLEEP once and does not repeat it before a WAKE, S says
 * WAKE only after a SLEEP. R does not sleep while it has seen fewer messages than it was told of. So either S knows
 * that R sleeps and wakes it, or R is awake; when both speak at once, S finds in SLEEP that R does not know of all
 * messages. tests/model/mpi_sleep.pml is a model of it. S itself stays awake until R has taken everything
 * (TAKEN(taken), also part of SLEEP), since MPI may hold back in the sender what it calls sent. The same count is the
 * window that bounds what waits at a receiver that is slow to take it. */
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
#define SFD_MPI_SMALL (64u << 10) /* gathered messages; up to this size the progress thread receives on its own */
#define SFD_MPI_CHUNK (16u << 20) /* larger pieces are split: bounds bounce buffers, and is far below MPI's counts */
#define SFD_MPI_WINDOW 32         /* messages sent and not taken, per direction of a pair */

#define SFD_MPI_TICK_NS 1000000          /* awake for so long behind the last message; and how often to look around */
#define SFD_MPI_NUDGE_NS 5000000         /* a send that does not end: wakes the receiver again and again */
#define SFD_MPI_HANDSHAKE_NS 3000000000u /* per address */
#define SFD_MPI_END_NS 5000000000u       /* for everything that the end of a stream waits for */
#define SFD_MPI_TOKEN 32                 /* bytes */
#define SFD_MPI_ADDRESSES 8

/* ---- What the daemons tell each other ---- */

/* Where a daemon listens for links. Exchanged through MPI. */
typedef struct sfd_mpi_place {
  char host[64];
  uint16_t port; /* host byte order; 0: it cannot listen */
  uint16_t naddresses;
  uint16_t family[SFD_MPI_ADDRESSES]; /* AF_INET or AF_INET6 */
  uint8_t address[SFD_MPI_ADDRESSES][16];
} sfd_mpi_place_t;

/* Each node gives each other one a token at the start, through MPI. Who connects shows the one that it was given. */
typedef struct sfd_mpi_token {
  uint8_t bytes[SFD_MPI_TOKEN];
} sfd_mpi_token_t;

#define SFD_MPI_MAGIC 0x4d444653u /* "SFDM" */
#define SFD_MPI_VERSION 1u

/* First on a link, from who connects; the answer is one too. Daemons of one MPI job have one byte order. */
typedef struct sfd_mpi_hello {
  uint32_t magic;
  uint32_t version;
  int32_t from;
  int32_t to;
  uint32_t crossed; /* answer: my own connection to you is on its way, and is the one to use */
  uint32_t attempt; /* counts my hellos to you that were no answers: older ones are given up */
  uint64_t posted;  /* messages that I sent you until now: they are not of this stream */
  sfd_mpi_token_t token;
} sfd_mpi_hello_t;
_Static_assert(sizeof(sfd_mpi_hello_t) == 64, "version 1");

typedef enum sfd_mpi_record_kind {
  SFD_MPI_READY = 1, /* by who connected: it has the answer. Its peer sends no message before */
  SFD_MPI_SLEEP,
  SFD_MPI_WAKE,
  SFD_MPI_TAKEN,
  SFD_MPI_BYE, /* the stream is over; posted. Behind it only the end of the connection, which says: received it all */
} sfd_mpi_record_kind_t;

/* Everything behind the hellos. */
typedef struct sfd_mpi_record {
  uint32_t kind;
  uint32_t zero;
  uint64_t count; /* matched (SLEEP) or posted (WAKE, BYE) */
  uint64_t taken; /* SLEEP, TAKEN */
} sfd_mpi_record_t;
_Static_assert(sizeof(sfd_mpi_record_t) == 24, "version 1");

/* ---- What the threads tell each other ---- */

/* From the progress thread to the user, through one queue per peer, so that their order is kept. */
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
 * The state is protected by the lock. RECEIVING belongs to the progress thread, DONE to the loop's. */
typedef enum sfd_mpi_item_state {
  SFD_MPI_ARRIVED,
  SFD_MPI_ASKED,
  SFD_MPI_PLACED,
  SFD_MPI_RECEIVING,
  SFD_MPI_DONE
} sfd_mpi_item_state_t;

typedef struct sfd_mpi_item {
  sfd_mpi_event_t event;
  struct sfd_mpi_item *next; /* in a list of the progress thread's, or of unused items */
  struct sfd_mpi_peer *peer;
  sfd_mpi_item_state_t state;
  bool direct;  /* buffer is the user's */
  bool dropped; /* RECEIVING, but nobody wants it any more */
  size_t len;
  MPI_Message message;
  MPI_Request request;
  void *buffer;                      /* where it is received */
  const sfd_fabric_memory_t *memory; /* of a device, and direct; NULL: of the host */
  void *bounce;                      /* allocated for this message, or NULL */
  uint8_t own[SFD_MPI_SMALL];
} sfd_mpi_item_t;

/* ---- Links and peers ---- */

/*   connecting -> greeting -> up -> ending        who connects
 *        guest [-> waiting] -> up -> ending       who is connected to
 *
 * waiting: the peer has begun anew before the old stream was wholly over here. */
typedef enum sfd_mpi_link_state {
  SFD_MPI_CONNECTING,
  SFD_MPI_GREETING,
  SFD_MPI_GUEST,
  SFD_MPI_WAITING,
  SFD_MPI_OPEN,
  SFD_MPI_ENDING
} sfd_mpi_link_state_t;

/* A stream and its TCP connection; of the progress thread but for the first part. */
typedef struct sfd_mpi_link {
  bool of_loop;     /* under the lock: the loop's thread knows it, or an event of it waits */
  bool of_progress; /* under the lock; freed when nobody has it */
  sfd_mpi_event_t up;
  sfd_mpi_event_t down;
  int watch_fd;       /* under the lock until up is delivered, then the loop's; -1: none */
  bool quits;         /* under the lock: one of both sides ends the stream in good order, or the loop's thread knows */
  sf_status_t status; /* of down */
  char detail[320];

  struct sfd_mpi_link *next; /* in the list of all */
  struct sfd_mpi_peer *peer; /* NULL: a guest that has not said who it is */
  sfd_mpi_link_state_t state;
  int fd;            /* -1: none */
  uint64_t deadline; /* 0: none */
  unsigned address;  /* connecting: the next one to try */
  bool ready;        /* messages may be sent */
  bool silent;       /* ending: the user ended it and is told nothing */
  bool cut;          /* ending: a message was left out, so all behind it are too */
  bool over;         /* ending: nothing of the user's is used any more, and it was told */
  bool bye;          /* the peer's BYE was read */
  uint64_t last;     /* what it said: the count of its last message */
  bool shut;         /* the end of my direction was sent */
  bool ended;        /* the end of the peer's direction was read */
  uint64_t first;    /* messages of the peer up to this one are of older streams */
  bool peer_sleeps;  /* its SLEEP came and no WAKE went */
  bool told_sleep;   /* my SLEEP went and no WAKE came */
  size_t nin;
  uint8_t in[512];
} sfd_mpi_link_t;

/* How the loop's thread hears of the end of a link. */
typedef struct sfd_mpi_watch {
  uv_poll_t poll;
  struct sfd_mpi *mpi;
  struct sfd_mpi_peer *peer;
  int fd;
} sfd_mpi_watch_t;

typedef struct sfd_mpi_outgoing {
  const void *data;
  size_t len;
  const sfd_fabric_memory_t *memory; /* of a device; NULL: of the host */
} sfd_mpi_outgoing_t;

typedef struct sfd_mpi_peer {
  int32_t node;

  /* The loop's thread. */
  sfd_mpi_link_t *current; /* the stream as the user knows it; NULL: none */
  sfd_mpi_watch_t *watch;  /* of its link, or NULL */
  bool refused;            /* the user does not want to read it any more */
  bool spoilt;             /* nothing of it is given to the user any more: down will be */
  bool no_memory;          /* connecting has failed at once; down is to be called */
  unsigned taken_unsaid;   /* items taken since the progress thread was told to look */

  /* What is being sent: written by the loop's thread while no send is under way, read by the other one while one is. */
  sfd_mpi_outgoing_t *outgoing;
  unsigned noutgoing, outgoing_size;
  uint8_t *gathered;
  size_t gathered_size;

  /* Under the lock. */
  struct sfd_mpi_peer *next_command, *next_notice;
  bool commanded, noticed; /* it is in the list */
  sfd_mpi_link_t *connect; /* command: connect with this one */
  sfd_mpi_link_t *send;    /* command: send what is outgoing, if this is still the stream */
  sfd_mpi_link_t *fail;    /* command: end this stream, with */
  sf_status_t fail_status; /* SF_ERR_NOMEM, SF_ERR_PROTO: the peer's bytes can't go where they should */
  bool disconnect;         /* command; cleared when it has been obeyed */
  sfd_mpi_link_t *sent;    /* notice: the send on this stream is over */
  sfd_mpi_event_t *events, **events_end;

  _Atomic uint64_t taken; /* messages of the peer that the user has got, or that were thrown away */

  /* The progress thread. */
  sfd_mpi_link_t *link;    /* what becomes, is or was the stream, until it is over; NULL: none */
  sfd_mpi_link_t *waiting; /* the next one */
  uint32_t attempts;       /* hellos sent to the peer to connect with it */
  uint32_t seen_attempt;   /* the peer's newest one */
  uint64_t posted;         /* messages sent to the peer */
  uint64_t acked;          /* of which it has taken so many */
  uint64_t matched;        /* messages seen from the peer */
  uint64_t told;           /* what it said of how many there are */
  uint64_t told_taken;     /* what I said last of taken */
  uint64_t last_sent_ns, last_seen_ns;
  bool quitting; /* disconnect was seen */
  bool sending;
  unsigned next_outgoing;
  unsigned nrequests, first_request; /* ring of the sends under way */
  bool active;                       /* there are some: it is in the list */
  struct sfd_mpi_peer *next_active;
  unsigned ndirect; /* receives under way into the user's memory */
  MPI_Request requests[SFD_MPI_WINDOW];
} sfd_mpi_peer_t;

typedef struct sfd_mpi_items {
  sfd_mpi_item_t *first, **end;
} sfd_mpi_items_t;

typedef struct sfd_mpi {
  sfd_fabric_t fabric;
  sfd_mpi_peer_t *peers;         /* by node */
  const sfd_mpi_place_t *places; /* by node; constant from the start */

  /* The loop's thread. */
  uv_async_t async;
  pthread_t thread;
  bool closing;
  LIST_HEAD(, sfd_fabric_memory) memories; /* of devices */

  pthread_mutex_t lock;
  pthread_cond_t obeyed; /* a disconnect, or the start */

  /* Under the lock. */
  bool started, go; /* the progress thread has come to an end of the start; it may begin its work */
  sf_status_t start_status;
  char start_detail[512];
  sfd_mpi_peer_t *commands; /* peers for which there are some */
  sfd_mpi_peer_t *notices, **notices_end;
  bool close, finish; /* commands */
  bool closed;        /* notice */
  bool asleep;        /* the progress thread waits, or is about to: write to wake_fd */
  sfd_mpi_item_t *unused;
  unsigned nunused;

  _Atomic bool commanded; /* look at the commands; set under the lock */

  /* The progress thread. */
  int *argc;
  char ***argv;
  MPI_Comm comm;
  int epoll_fd, wake_fd, listen_fd;
  const sfd_mpi_token_t *given; /* by node: what it shows me */
  const sfd_mpi_token_t *shown; /* by node: what I show it */
  sfd_mpi_link_t *links;
  sfd_mpi_item_t *spare;  /* for the next message */
  sfd_mpi_peer_t *active; /* sends are under way to them */
  sfd_mpi_items_t receiving;
  sfd_mpi_items_t discards; /* messages to throw away, one after the other */
  bool discarding;
  void *scratch;    /* where they go */
  uint64_t now_ns;  /* of this pass */
  uint64_t last_ns; /* when there was something to do */
  uint64_t tick_ns; /* when it looked around */
  bool ending;      /* close was called */
  int32_t entered;  /* the device whose context the thread has; -1: none */
} sfd_mpi_t;

/* ---- start.c, address.c: the beginning, on the progress thread ---- */

/* Initialises MPI, listens, and exchanges what the daemons must know of each other. A failure to listen is an error on
 * all nodes. */
sf_status_t sfd_mpi_start(sfd_mpi_t *mpi);

/* Bytes that are the same for processes which reach each other on the loopback address. */
void sfd_mpi_reachability(uint8_t bytes[64]);

/* Listens and fills in everything of a place but the host; on the loopback address only, or on all. */
sf_status_t sfd_mpi_listen(bool loopback_only, int *fd_p, sfd_mpi_place_t *place);

/* ---- progress.c: the thread ---- */

void *sfd_mpi_progress(void *mpi);

/* Wakes the progress thread if it sleeps; under the lock. */
void sfd_mpi_wake(sfd_mpi_t *mpi);

/* ---- commands.c: what the threads ask of each other ---- */

/* Under the lock, by the loop's thread: the progress thread is to look at this peer, or at the fabric (NULL). */
void sfd_mpi_command(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* Under the lock, by the progress thread: the loop's thread is to look at this peer, or at the fabric (NULL). */
void sfd_mpi_notify(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* Under the lock: appends to the peer's events. */
void sfd_mpi_append(sfd_mpi_peer_t *peer, sfd_mpi_event_t *event);

/* Carries commands out, on the progress thread. Whether there were any. */
bool sfd_mpi_obey(sfd_mpi_t *mpi);

/* Items come from a small store of unused ones. NULL: no memory. */
sfd_mpi_item_t *sfd_mpi_item_new(sfd_mpi_t *mpi);

/* The same under the lock. */
void sfd_mpi_item_free(sfd_mpi_t *mpi, sfd_mpi_item_t *item);

/* ---- transfer.c: messages, on the progress thread ---- */

/* Posts what the window has room for. */
void sfd_mpi_post(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* Each of them: whether something happened. */
bool sfd_mpi_test_sends(sfd_mpi_t *mpi);
bool sfd_mpi_match(sfd_mpi_t *mpi);
bool sfd_mpi_test_receives(sfd_mpi_t *mpi);

/* Receives a message that has a place now. */
void sfd_mpi_receive(sfd_mpi_t *mpi, sfd_mpi_item_t *item);

/* Takes data out of the peer's events: all of it, or what is not wholly received without the user's help. */
void sfd_mpi_cut(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, bool all);

/* ---- stream.c: beginning and end of streams, on the progress thread ---- */

/* The peer has shown who it is, on this link. */
void sfd_mpi_stream_open(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Ends the stream: in silence because the user wants it, or with a status and text for it. The peer is told. */
void sfd_mpi_stream_quit(sfd_mpi_t *mpi, sfd_mpi_link_t *link);
void sfd_mpi_stream_fail(sfd_mpi_t *mpi, sfd_mpi_link_t *link, sf_status_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Goes on with the ends of streams. */
void sfd_mpi_stream_check(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);

/* ---- link.c, greet.c: TCP, on the progress thread ---- */

sfd_mpi_link_t *sfd_mpi_link_new(void); /* any thread; NULL: no memory */

/* Makes it the progress thread's. */
void sfd_mpi_link_add(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Closes the connection. */
void sfd_mpi_link_close(const sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Closes it, and gives it up. */
void sfd_mpi_link_remove(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Under the lock: one thread less has it. */
void sfd_mpi_link_release(sfd_mpi_link_t *link, bool *of_whom);

/* Whether all bytes were taken by the kernel. What is said on a link is so little that its buffers are never full
 * unless the other side has stopped reading. */
bool sfd_mpi_link_write(sfd_mpi_link_t *link, const void *bytes, size_t len);

/* Says something on an open link. A failure ends the stream at the next look at the link. */
void sfd_mpi_say(sfd_mpi_link_t *link, sfd_mpi_record_kind_t kind, uint64_t count, uint64_t taken);

/* Says what was taken of the peer's messages, if that is news. Its link must be open. */
void sfd_mpi_say_taken(sfd_mpi_peer_t *peer);

/* Begins to watch the link's connection for what arrives; for its coming about too. */
bool sfd_mpi_link_watch(sfd_mpi_t *mpi, sfd_mpi_link_t *link, bool connecting);

/* Something has happened on the link's connection. */
void sfd_mpi_link_event(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Connects to the next address of the link's peer. */
void sfd_mpi_connect_next(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* The connection has come about, or not. */
void sfd_mpi_connected(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* Somebody connects. */
void sfd_mpi_accept(sfd_mpi_t *mpi);

/* Answers a guest that was let in. */
bool sfd_mpi_welcome(sfd_mpi_t *mpi, sfd_mpi_link_t *link);

/* The peer's hello. Whether the link is still there, to be read on. */
bool sfd_mpi_greeted(sfd_mpi_t *mpi, sfd_mpi_link_t *link, const sfd_mpi_hello_t *hello);

/* ---- outgoing.c, deliver.c, watch.c: the loop's thread ---- */

/* Turns pieces into messages. false: no memory. */
bool sfd_mpi_plan(const sfd_mpi_t *mpi, sfd_mpi_peer_t *peer, const struct iovec iov[], int niov);

/* The memory of a device that holds the address; NULL: none, it is the host's. */
const sfd_fabric_memory_t *sfd_mpi_find_memory(const sfd_mpi_t *mpi, const void *address);

/* Calls the user's events. */
void sfd_mpi_deliver(uv_async_t *async);

/* Watches the link of the peer's current stream from now on, or no longer. Who can't be watched is not. */
void sfd_mpi_watch(sfd_mpi_t *mpi, sfd_mpi_peer_t *peer);
void sfd_mpi_unwatch(sfd_mpi_peer_t *peer);

/* Text about a node. */
void sfd_mpi_describe(const sfd_fabric_t *fabric, int32_t node, char *text, size_t text_size);

#endif

"""Memory layout that compiled loops and Python share: one block of memory, in 64-bit words.

Everything is found from ``words``, the first words of the block: addresses of regions, cursors and
counters. Times are microseconds of CLOCK_MONOTONIC. No number here is a default of a user's option.
"""

# Words: cursors and counters.
(
    NOW,  # time at the last look at the clock
    NEXT_DUE,  # earliest deadline of any slot
    WAIT_UNTIL,  # how long one step may wait for replies
    STEP_UNTIL,  # when a step ends at the latest
    ROOM,  # queries that may be in flight
    IN_FLIGHT,
    N_FREE,  # free slots
    N_SLOTS,
    N_SERVERS,
    N_CHANNELS,
    TURN,  # server that was queried last
    TEXT_AT,  # cursor in the list of names
    TEXT_END,
    TYPE_AT,  # which of the types is queried next for the name at TEXT_AT
    N_TYPES,
    NEXT_TAG,  # number of the next question; where there are TAGS, its place in them
    RANDOM_AT,
    RANDOM_END,
    RECURSION,  # 1: set the RD bit
    CASE_MIXING,  # 1: letters in random case
    OUT_AT,
    N_EXPIRED,
    N_DEFERRED,
    N_UNUSUAL,
    N_RESULTS,  # lines in OUT
    SENT,  # queries sent in this step
    SEND_ERROR,  # errno of a socket that refuses to send, 0 for none
    NOERROR,  # replies by status in this step
    NODATA,
    NXDOMAIN,
    EPOCH,  # added to a time it gives microseconds since 1970
    NAP,  # microseconds to wait before reading while many replies are under way
    LAST_LENGTH,  # of the question that was answered last, in octets
    LAST_TAG,  # of the same question
    N_COUNTED,  # tags below this have a row in COUNTS
    N_RECORDS,  # rows in RECORDS
    N_POLLED,  # sockets in POLLED: those of the channels, then others that Python reads
    HAS_LINES,  # 1: OUT has JSON lines; 0: only names and data, for a reader of RECORDS
) = range(38)

# Words: addresses of regions.
(
    SERVERS,
    CHANNELS,
    POLLED,
    TABLE,  # first slot of each list of slots, or NOTHING: see PLACES_PER_SLOT
    DEADLINES,
    SLOTS,
    QUESTIONS,
    FREE,
    EXPIRED,
    DEFERRED,
    UNUSUAL,
    UNUSUAL_PACKETS,
    RECEIVE_HEADERS,
    RECEIVE_VECTORS,
    RECEIVE_CELLS,
    SEND_HEADERS,
    SEND_VECTORS,
    SEND_CELLS,
    RANDOM,
    OUT,
    RESULTS,
    SERVER_TEXTS,
    TYPES,
    TYPE_TEXTS,
    TIMESPEC,
    CHAIN,  # rows of start and end of the names of one chain of aliases
    LAST_QUESTION,
    TEXT,
    TAGS,  # tags of the questions of TEXT; absent (0): their numbers
    COUNTS,  # denials by tag and status; absent (0): every reply becomes a line
    RECORDS,  # of all lines in OUT; empty: they are not listed
    QUERIES,  # tag, server, zone and type of each name in TEXT; absent (0): servers take turns
    SOURCES,  # where the datagrams of one system call came from
    NEXT_SLOTS,  # the slot behind each slot in the list that it is part of, or NOTHING
    TIME_TEXT,  # when the packets of one system call came, as lines state it
) = range(40, 75)
# Added to the word of a region's address it gives the word of its length in octets.
LENGTHS = 40
N_WORDS = 120

# Columns of a server's row.
(
    S_LIMIT,  # queries that may be in flight at it
    S_PERMITS,  # queries that its rate limit permits in this step
    S_TIMEOUT,  # of a first try
    S_IN_FLIGHT,
    S_ANSWERED,  # in this step
    S_SENT,
    S_RTT,  # of the last reply
    S_FIRST_CHANNEL,
    S_N_CHANNELS,
    S_TURN,  # socket that was used last
    S_TEXT_LENGTH,
    S_ADDRESS,  # with QUERIES: struct sockaddr_in, two words
) = range(12)
SERVER_WORDS = 16
# Columns of a channel's row: its socket, and the row of its server.
C_FD, C_SERVER = 0, 1
CHANNEL_WORDS = 2
# Columns of a slot's row, one query in flight.
(
    Q_SENT_AT,
    Q_TAG,
    Q_CHANNEL,
    Q_IDENT,  # NOTHING where the slot is free
    Q_LENGTH,  # of the question section, in octets
    Q_TYPE,  # index of the type
    Q_SERVER,  # row of the server
    Q_ZONE,  # with QUERIES: octets of the zone's name, NOTHING if its reply is left to Python
) = range(8)
SLOT_WORDS = 8
# Columns of a question that cannot be encoded here: from TEXT, its number, its type.
D_BEGIN, D_END, D_TAG, D_TYPE = range(4)
DEFERRED_WORDS = 4
# Columns of a query that names its server: the zone is the end of its name, of so many octets.
W_TAG, W_SERVER, W_ZONE, W_TYPE = range(4)
QUERY_WORDS = 4
# Columns of a line in OUT. With COUNTS there are no lines, and a denial has a tag and a status.
(
    R_TAG,  # of its question
    R_AT,  # microseconds since 1970
    R_STATUS,
    R_TYPE,  # index of the type
    R_SERVER,  # row of the server
    R_RTT,  # microseconds
    R_ANSWERS,  # records in the answer section
    R_AUTHORITIES,  # records behind them
    R_NAME,  # offsets in OUT: where the name begins and ends
    R_NAME_END,
    R_FIRST,  # row in RECORDS of its first record
) = range(11)
RESULT_WORDS = 11
# Columns of a record in a line: offsets in OUT of its owner and of its data, then numbers.
(
    A_NAME,
    A_NAME_END,
    A_DATA,
    A_DATA_END,
    A_TYPE,
    A_TTL,
    A_UPPER,  # an address of the type AAAA: its upper and lower half
    A_LOWER,  # and one of the type A
) = range(8)
RECORD_WORDS = 8
# Octets of a record in OUT at least.
LEAST_RECORD = 40
# Columns of COUNTS: NOERROR (unused), NODATA, NXDOMAIN.
COUNT_WORDS = 3
MOST_RESULTS = 1 << 15
# Columns of a packet that is read by the reference engine.
U_CHANNEL, U_SLOT, U_SIZE, U_AT, U_SOURCE = range(5)
UNUSUAL_WORDS = 5

NOTHING = -1
# A slot is found by its channel and id, in one of several times as many short lists as there are
# slots: a row for each possible id would be read at random places of several MiB.
PLACES_PER_SLOT = 4
# Added to an id for each channel before it, so that equal ids are in different lists.
PLACE_STEP = 40_503
NEVER = 1 << 62
# Datagrams of one system call, and octets of the cells for them.
BATCH = 64
# Cells that begin at multiples of 4,096 octets would all have their first octets in the same few
# lines of the processor's cache.
RECEIVE_CELL, SEND_CELL = 4_096 + 64, 512 + 64
QUESTION_CELL = 272
# struct sockaddr_in in words: family, port and address are the first.
ADDRESS_WORDS = 2
# struct mmsghdr of 64-bit Linux in words: name, its length, vectors, their number, control, its
# length, flags, and the octets received in the lower half of the last.
HEADER_WORDS, H_NAME, H_NAME_LENGTH, H_VECTORS, H_VECTOR_COUNT, H_RECEIVED = 8, 0, 1, 2, 3, 7
VECTOR_WORDS = 2
CHAIN_WORDS = 2
MOST_DEFERRED = 256
MOST_UNUSUAL = 256
# So many packets for the reference engine are read together while others keep coming.
UNUSUAL_BATCH = 64
RANDOM_OCTETS = 1 << 16
# Random octets that one query uses: an id (tried again where it is in use), and cases of letters.
CASE_OCTETS = 32
# A longer line is written by the reference engine.
LONGEST_LINE = 1 << 14
OUT_OCTETS = 3 << 20
MOST_RECORDS = OUT_OCTETS // LEAST_RECORD
# Up to here the lines and records of one more batch fit; a record has 11 octets at least.
FULL_OUT = OUT_OCTETS - BATCH * LONGEST_LINE
FULL_RECORDS = MOST_RECORDS - BATCH * (RECEIVE_CELL // 11)
# Text of a server in lines, and of a type.
SERVER_TEXT, TYPE_TEXT = 160, 8
TIME_OCTETS = 24

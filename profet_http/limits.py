"""What one request may take, and how many are in work at once."""

#: Files in a request's body, all together; larger ones are for `profet convert`, on the user's machine.
MAX_FILE_BYTES = 30 * 2**20
#: A JSON body: three profiles of a thousand operations each have 200 KB.
MAX_JSON_BYTES = 2**20
#: A JSON body up to this size is answered among the quick ones; larger ones take turns with files.
SMALL_JSON_BYTES = 2**16
#: A request's head must be there by then; the next part of its body; all of it.
HEAD_LIMIT_S = 10.0
PAUSE_LIMIT_S = 5.0
RECEIVE_LIMIT_S = 30.0
#: An answer too, waiting included. A thread can't be ended: until it is done its place stays taken.
ANSWER_LIMIT_S = 30.0

#: Profiles in JSON: threads at work (a second one would only take turns with the first), and requests that wait or are
#: at work.
ANSWER_THREADS, MAX_ANSWERS = 1, 64
#: Files: the same, once they are received.
FILE_THREADS, MAX_FILES = 1, 8
#: Retry-After seconds of a refused request.
RETRY_AFTER_S = 2

#: Connections of one process that wait for a request's head; of more, the longest waiting is closed.
MAX_WAITING = 500

"""The statements of the pools: what is asked of the file, and how each order ranks.

Lists go to SQLite as one JSON value: a statement for each element would cost far more. `lane_of` is
a function of ours there: the lane of a URI in a pool, null if that has none.
"""

from __future__ import annotations

from ..journal.schema import FAILED, FINISHED

COLUMNS = "coalesce(rank, 0), id, uri, depth, attempts, priority, note, lane"
IDS = "(SELECT value FROM json_each(?))"
UNHELD = "id NOT IN (SELECT id FROM lease)"
RANK = {
    "fifo": "NULL",
    "levels": "depth",
    "fair": "depth",
    "deepest": "-depth",
    "priority": "priority",
}
BY_DEPTH = ("levels", "fair", "deepest")

# --- coming in -----------------------------------------------------------------------------

# Taking each element apart, as below, costs as much as finding its place in the index.
INSERT = (
    "INSERT OR IGNORE INTO uri (uri, pool, rank, depth) "
    "SELECT value, ?1, ?3, ?4 FROM json_each(?2) WHERE true"
)
RICH = (
    "INTO uri (uri, pool, rank, depth, priority, note, lane) SELECT value ->> 0, ?1, value ->> 1, "
    "value ->> 2, value ->> 3, value ->> 4, lane_of(?1, value ->> 0) FROM json_each(?2) WHERE true"
)
INSERT_RICH = f"INSERT OR IGNORE {RICH}"
SINK = (
    f"INSERT {RICH} ON CONFLICT (uri) DO UPDATE SET depth = excluded.depth "
    f"WHERE excluded.depth < uri.depth RETURNING {COLUMNS}, pool"
)
NEWEST_ID = "SELECT coalesce(max(id), 0) FROM uri"

# --- moving --------------------------------------------------------------------------------

LEASE = "INSERT INTO lease (id, stage, token, holder) SELECT value, ?, ? + key, ? FROM json_each(?)"
RELEASE = f"DELETE FROM lease WHERE id IN {IDS}"
LEAVE = (
    "UPDATE uri SET pool = ?, rank = ?, attempts = ?, not_before = ?, reason = ?, failed_in = ?, "
    f"moved = ? WHERE id IN {IDS}"
)
SET_LANE = f"UPDATE uri SET lane = lane_of(pool, uri) WHERE id IN {IDS}"
MAKE_READY = f"UPDATE uri SET not_before = 0 WHERE id IN {IDS}"
PROMOTE = (
    "UPDATE uri SET not_before = 0 WHERE pool = ? AND not_before > 0 AND (not_before <= ? OR "
    f"not_before > ?) RETURNING {COLUMNS}"
)
BRING_FORWARD = "UPDATE uri SET not_before = max(1.0, not_before - ?) WHERE not_before > 0"
SEND_BACK = (
    "UPDATE uri SET pool = ?1, rank = {}, lane = {}, attempts = 0, not_before = 0, "
    f"reason = NULL, failed_in = NULL, moved = ?2 WHERE {UNHELD} "
    f"AND id IN (SELECT value FROM json_each(?3)) AND pool = ?4 RETURNING {COLUMNS}"
)
RERANK = f"UPDATE uri SET rank = {{}} WHERE id IN {IDS} RETURNING {COLUMNS}"
REVIVE = (
    "UPDATE uri SET pool = failed_in, rank = {}, lane = lane_of(failed_in, uri), failed_in = NULL, "
    f"attempts = iif(?3 IS NULL, 0, attempts), reason = NULL WHERE pool = {FAILED} "
    "AND failed_in = ?1 AND {} "
    "AND (?3 IS NULL OR attempts < ?3)"
)
BY_TEXT = "instr(lower(coalesce(reason, 'unknown')), lower(?2))"
# What waits may have been ranked for another order, by a run with other settings.
SET_RANK = {
    order: f"UPDATE uri SET rank = {rank} WHERE pool = ? AND rank IS NOT {rank}"
    for order, rank in RANK.items()
    if order != "fifo"
} | {"fifo": f"UPDATE uri SET rank = NULL WHERE pool = ? AND pool > {FAILED} AND rank IS NOT NULL"}
SET_LANES = "UPDATE uri SET lane = lane_of(pool, uri) WHERE pool = ? AND lane IS NULL"
CLEAR_LANES = f"UPDATE uri SET lane = NULL WHERE pool = ? AND lane IS NOT NULL AND pool > {FAILED}"

# --- reading -------------------------------------------------------------------------------

ROWS = f"SELECT {COLUMNS} FROM uri WHERE pool = ? "
READY = f"AND not_before = 0 AND {UNHELD} AND id NOT IN (SELECT id FROM mark) "
NAMED = f"{ROWS} AND uri IN {IDS} AND {UNHELD} AND id NOT IN (SELECT id FROM mark) LIMIT ?"
OLDEST = f"{ROWS} AND id > ? {READY} ORDER BY id LIMIT ?"
RANKED = f"{ROWS} AND rank IS NOT NULL AND pool > {FAILED} {READY} ORDER BY rank, id LIMIT ?"
OF_LANE = (
    f"SELECT {COLUMNS} FROM uri INDEXED BY lanes WHERE pool = ? AND lane = ? AND lane IS NOT NULL "
    f"AND pool > {FAILED} {READY} ORDER BY rank, id LIMIT ?"
)
LANED = f"FROM uri INDEXED BY lanes WHERE pool = ?1 AND lane IS NOT NULL AND pool > {FAILED}"
# From lane to lane by the index: nobody reads a million rows to find a few hundred hosts.
LANES = f"""WITH RECURSIVE each_(lane) AS (
    SELECT min(lane) {LANED}
    UNION ALL SELECT (SELECT min(lane) {LANED} AND lane > each_.lane) FROM each_
    WHERE each_.lane IS NOT NULL)
SELECT lane FROM each_ WHERE lane IS NOT NULL"""
IN_LANES = f"SELECT count(*) {LANED}"
IN_LANE = (
    "SELECT uri FROM uri INDEXED BY lanes WHERE pool = ? AND lane = ? AND lane IS NOT NULL "
    f"AND pool > {FAILED} AND {UNHELD} AND id NOT IN (SELECT id FROM mark) LIMIT 1000"
)
LONGEST_LANES = f"SELECT lane, count(*) {LANED} AND {UNHELD} GROUP BY lane ORDER BY 2 DESC LIMIT ?2"
RANKS = (
    "SELECT rank, count(*) FROM uri "
    f"WHERE pool = ? AND rank IS NOT NULL AND pool > {FAILED} GROUP BY rank"
)
LEAST_RANK = f"SELECT min(rank) FROM uri WHERE pool = ? AND rank IS NOT NULL AND pool > {FAILED}"
UNFINISHED_ABOVE = "SELECT 1 FROM uri WHERE pool = ? AND not_before > 0 AND rank < ? LIMIT 1"
POOL_OF = "SELECT name FROM uri JOIN pool ON pool.id = uri.pool WHERE uri = ?"
EARLIEST = "SELECT min(not_before) FROM uri WHERE pool = ? AND not_before > 0"
SOME_OF_POOL = (
    f"SELECT id, uri FROM uri WHERE pool = ? AND id > ? AND {UNHELD} ORDER BY id LIMIT 1000"
)
# By the stretch, so that nobody waits long: some rows are read, and few of them may be wanted.
BY_PREFIX = (
    "SELECT id, uri, pool = ?1 AND (?2 IS NULL OR moved < ?2) FROM uri "
    "WHERE uri >= ?3 AND uri < ?4 ORDER BY uri LIMIT ?5"
)
KILLERS = f"SELECT {COLUMNS} FROM uri WHERE pool = {FAILED} AND reason = ? AND failed_in = ?"
BY_NAMES = "SELECT id FROM uri WHERE pool = ? AND uri IN (SELECT value FROM json_each(?))"
STRETCH = "SELECT id FROM uri WHERE id > ? AND id <= ?"
BY_AGE = f"{STRETCH} AND pool = ? AND (?4 IS NULL OR moved < ?4)"
BY_DEPTHS = f"{STRETCH} AND pool = {FINISHED} AND depth >= ? AND depth < ?"

"""Faults that are injected for real, and which test shows that each is survived.

Names of tests are shortened; files without a folder are in this one.

A1   `kill -9` at random moments: crash/test_kill; soak (a hundred kills)
A2   at each system call: test_kills (SHEAF_SWEEP=all for every single one)
A3   inside a snapshot: test_kills; test_damage, from_the_older_snapshot (what is left over)
A4   between a media file and its record: test_crashes, a_death_between_two_steps[media-rename]
A5   between graph, books and pools: test_crashes, a_death_between_two_steps[the others]
A6   asked to stop under load: test_stop, asked_to_stop
A7   asked twice: test_stop, asked_twice
A8   two instances: test_stop, a_second_one
A9   a poisoned URI: test_stop, what_never_succeeds; tests/test_harvest, one_poisoned_concept
A10  a bug in a worker: test_crashes, a_bug_costs_one_uri
A11  a thread hangs: test_clock_jumps, a_task_that_hangs; tests/test_cli, sigquit
A12  memory, open files or threads run out: test_scarcity; tests/test_monitor, no_thread_to_be_had
A13  a task kills its process: tests/test_marks, a_task_that_kills
B1   a torn log: tests/test_register, a_torn_log
B2   a flipped byte in it: tests/test_register, a_flipped_byte
B3   a torn snapshot: test_damage, a_torn_snapshot, from_the_older_snapshot
B4   nothing but damage or media is left: test_damage, nothing_begins_anew, media_without
B5   the disk of the state is full: test_full_disk, a_full_state, a_snapshot_for_which
B6   the disk of the media is full: test_full_disk, below_the_reserve, media_without_any, a_write
B6a  what waits holds the room: test_room
B7   a disk cannot keep what it was given: test_sync_errors
B8   read-only, or no permission: test_refused_disk, a_read_only_state, a_folder_that_is_closed
B9   the clock jumps: test_clock_jumps, a_clock_that_jumps, a_clock_set_back; tests/test_clock
B10  a state of another version: tests/test_register, the_first_format; tests/test_cli, [newer]
B11  a large state: test_large_state; bench/pools.py for millions
B12  the state is moved away: test_refused_disk, a_state_that_is_moved_away
E1   the line is cut while volumes are sent: test_shipping, a_volume_that_is_cut_off, a_small_batch
E2   the line goes dead: test_shipping, a_dead_connection
E3   a write is refused, even late: test_shipping, refuses_late, refuses_every_time, does_not_keep
E4   a host that is not known: test_shipping, a_host_that_is_not_known, the_harvest_goes_on
E5   the disk of the node is full: test_shipping, the_node_has_no_room, a_node_that_becomes_full
E6   the node is away for long: test_shipping, while_the_node_is_away
E7   killed between sending, proof and erasing: test_shipping_kills
E8   killed while a batch is made: test_shipping_kills; files that come meanwhile or are damaged:
     test_shipping, what_is_finished_meanwhile; test_shipping_damage, damaged_files
E9   twice, out of order, in part: test_shipping_damage, comes_twice, waits_for_its_volumes
F1   an archive that leads elsewhere: tests/test_receive_crafted, what_is_no_plain_file, a_link
F2   one that is far too large: tests/test_receive_crafted, millions_of_files, claimed_to_be_huge
F3   a damaged volume: tests/test_receive, a_wrong_volume; test_shipping_damage, is_sent_again
F4   `kill -9` of the receiver: test_receive_kills (SHEAF_SWEEP=all for every single call)
F5   two receivers at once: tests/test_receive, a_second_one
F6   the same path twice: tests/test_receive, the_higher_counter_wins, the_newcomer_wins
G2   clear.py while it runs: tests/test_cli, a_second_instance; test_lost_belongings, nobody_empties
G3   history.py while it runs: test_history_under_load
G4   a graph or a media folder is lost: test_lost_belongings; tests/test_belongings
Those of H are in tests/.

H1   an assertions file is cut off or damaged: test_dump_lines, cut_off_anywhere, flipped_byte
H2   one that unpacks to far too much, a line without end: test_dump_lines, a_gigabyte
H3   lines that cannot be read: test_dump_sieve; test_dump_stream, bad_lines, one_too_many
H4   killed while an index is made: test_dump_build, killed_at; a_full_disk
H5   killed, stopped, or its graph away amid a whole file: test_dump_stream; test_neo4j_harvest
H6   the file is another one the next time: test_dump_build, another_file; test_dump_stream
"""

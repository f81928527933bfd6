-- SPDX-License-Identifier: MIT
-- Rows of `record --who` with known values, for a recording of six seconds: tests/cli/who-sinks.bats.
CREATE TABLE who_row(id INTEGER PRIMARY KEY, kind TEXT, key TEXT, labels TEXT, name TEXT, family TEXT, unit TEXT, socket INTEGER);
CREATE TABLE who_tick(wall_ns INTEGER, monotonic_ns INTEGER, interval_ns INTEGER, row_values TEXT);
INSERT INTO who_row VALUES
	(1, 'other', 'other', '{"kind":"other"}', 'group.memory.bandwidth', 'resctrl', 'B/s', NULL),
	(2, 'unit', 'a.service', '{"unit":"a.service"}', 'group.memory.bandwidth', 'resctrl', 'B/s', NULL),
	(3, 'unit', 'b.service', '{"unit":"b.service"}', 'group.memory.bandwidth', 'resctrl', 'B/s', NULL),
	(4, 'unit', 'a.service', '{"unit":"a.service"}', 'group.memory.bandwidth', 'resctrl', 'B/s', 0),
	(5, 'unit', 'a.service', '{"unit":"a.service"}', 'group.cache.occupancy', 'resctrl', 'B', NULL),
	(6, 'unit', 'idle.service', '{"unit":"idle.service"}', 'group.memory.bandwidth', 'resctrl', 'B/s', NULL),
	(7, 'group', 'web', '{"group":"web"}', 'group.memory.remote.bandwidth', 'resctrl', 'B/s', NULL),
	(8, 'unit', 'b.service', '{"unit":"b.service"}', 'task.storage.write.bandwidth', 'tasks', 'B/s', NULL);
INSERT INTO reason(text) VALUES ('1 of 3 busy unit had no group');
INSERT INTO who_tick SELECT 1000000000, 1000000000, 1000000000,
	'{"1":[5e7,"partial",' || max(id) || '],"2":1e9,"3":4e9,"4":1e9,"5":[null,"unavailable"],"7":1e6}' FROM reason;
INSERT INTO who_tick VALUES (2000000000, 2000000000, 1000000000, '{"1":5e7,"2":2e9,"3":5e9,"4":2e9,"5":1e6,"8":6e6}');
INSERT INTO who_tick VALUES (3000000000, 3000000000, 1000000000, '{"1":5e7,"2":3e9,"4":3e9,"5":3e6,"8":2e6}');
-- After the recording.
INSERT INTO who_tick VALUES (9000000000, 9000000000, 1000000000, '{"1":9e9,"2":9e9,"6":1e9}');

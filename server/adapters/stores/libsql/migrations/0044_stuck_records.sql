CREATE TABLE `stuck_records` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`at` integer NOT NULL,
	`account_id` text,
	`request_id` text,
	`source` text NOT NULL,
	`reason` text NOT NULL,
	`record` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `stuck_records_id` ON `stuck_records` (`id`);--> statement-breakpoint
CREATE INDEX `stuck_records_request` ON `stuck_records` (`request_id`);--> statement-breakpoint
CREATE TRIGGER `events_follow_stuck_records` AFTER INSERT ON `stuck_records` BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 7) || '_stuck', 'ledger.alarm', NULL, NULL, NEW.`at`, json_object('stuck_record_id', NEW.`id`, 'workspace_id', NEW.`account_id`, 'request_id', NEW.`request_id`, 'reason', NEW.`reason`))
  ON CONFLICT DO NOTHING;
END;

CREATE TABLE `archived_flows` (
	`day` integer NOT NULL,
	`kind` text NOT NULL,
	`debit` text NOT NULL,
	`credit` text NOT NULL,
	`amount` integer NOT NULL,
	`entries` integer NOT NULL,
	PRIMARY KEY(`day`, `kind`, `debit`, `credit`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `archived_months` (
	`first_day` integer PRIMARY KEY NOT NULL,
	`last_day` integer NOT NULL,
	`name` text NOT NULL,
	`location` text NOT NULL,
	`manifest` text NOT NULL,
	`charges` integer NOT NULL,
	`charged` integer NOT NULL,
	`archived_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `archived_sums` (
	`account` text NOT NULL,
	`day` integer NOT NULL,
	`debits` integer NOT NULL,
	`last` integer NOT NULL,
	PRIMARY KEY(`account`, `day`)
) WITHOUT ROWID;--> statement-breakpoint
DROP TRIGGER `entries_are_not_deleted`;--> statement-breakpoint
CREATE TRIGGER `entries_are_not_deleted` BEFORE DELETE ON `entries` WHEN OLD.`kind` <> 'charge' OR OLD.`credit` <> 'house/revenue' OR NOT EXISTS (SELECT 1 FROM `archived_months` WHERE (SELECT c.`day` FROM `closed_days` c WHERE c.`day` >= OLD.`at` / 86400000 AND c.`sealed` >= OLD.`seq` ORDER BY c.`day` LIMIT 1) BETWEEN `first_day` AND `last_day`) BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `archived_sums_follow_entries` AFTER DELETE ON `entries` BEGIN INSERT INTO `archived_sums` (`account`, `day`, `debits`, `last`) VALUES (OLD.`debit`, (SELECT c.`day` FROM `closed_days` c WHERE c.`day` >= OLD.`at` / 86400000 AND c.`sealed` >= OLD.`seq` ORDER BY c.`day` LIMIT 1), OLD.`amount`, OLD.`seq`) ON CONFLICT DO UPDATE SET `debits` = `debits` + excluded.`debits`, `last` = max(`last`, excluded.`last`); INSERT INTO `archived_flows` (`day`, `kind`, `debit`, `credit`, `amount`, `entries`) VALUES ((SELECT c.`day` FROM `closed_days` c WHERE c.`day` >= OLD.`at` / 86400000 AND c.`sealed` >= OLD.`seq` ORDER BY c.`day` LIMIT 1), OLD.`kind`, iif(OLD.`debit` LIKE 'house/%', OLD.`debit`, 'customers' || substr(OLD.`debit`, instr(OLD.`debit`, '/'))), iif(OLD.`credit` LIKE 'house/%', OLD.`credit`, 'customers' || substr(OLD.`credit`, instr(OLD.`credit`, '/'))), OLD.`amount`, 1) ON CONFLICT DO UPDATE SET `amount` = `amount` + excluded.`amount`, `entries` = `entries` + excluded.`entries`; END;--> statement-breakpoint
CREATE TRIGGER `archived_months_are_closed` BEFORE INSERT ON `archived_months` WHEN NEW.`last_day` > (SELECT coalesce(max(`day`), -1) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this month is not closed'); END;--> statement-breakpoint
CREATE TRIGGER `archived_months_follow_each_other` BEFORE INSERT ON `archived_months` WHEN EXISTS (SELECT 1 FROM `closed_flows` f WHERE f.`kind` = 'charge' AND f.`day` < NEW.`first_day` AND NOT EXISTS (SELECT 1 FROM `archived_months` WHERE f.`day` BETWEEN `first_day` AND `last_day`)) BEGIN SELECT RAISE(ABORT, 'an earlier month has charges that are not archived'); END;--> statement-breakpoint
CREATE TRIGGER `archived_months_are_whole` BEFORE INSERT ON `archived_months` WHEN (NEW.`charges`, NEW.`charged`) IS NOT (SELECT coalesce(sum(`entries`), 0), coalesce(sum(`amount`), 0) FROM `closed_flows` WHERE `kind` = 'charge' AND `day` BETWEEN NEW.`first_day` AND NEW.`last_day`) BEGIN SELECT RAISE(ABORT, 'the archive has other charges than were closed'); END;--> statement-breakpoint
CREATE TRIGGER `archived_months_are_not_changed` BEFORE UPDATE ON `archived_months` BEGIN SELECT RAISE(ABORT, 'archived months stay as they are'); END;--> statement-breakpoint
CREATE TRIGGER `archived_months_are_not_deleted` BEFORE DELETE ON `archived_months` BEGIN SELECT RAISE(ABORT, 'archived months stay as they are'); END;--> statement-breakpoint
CREATE TRIGGER `archived_sums_only_grow` BEFORE UPDATE ON `archived_sums` WHEN NEW.`debits` < OLD.`debits` OR NEW.`last` < OLD.`last` OR (NEW.`account`, NEW.`day`) IS NOT (OLD.`account`, OLD.`day`) BEGIN SELECT RAISE(ABORT, 'sums of archived charges only grow'); END;--> statement-breakpoint
CREATE TRIGGER `archived_sums_are_not_deleted` BEFORE DELETE ON `archived_sums` BEGIN SELECT RAISE(ABORT, 'sums of archived charges only grow'); END;--> statement-breakpoint
CREATE TRIGGER `archived_flows_are_not_deleted` BEFORE DELETE ON `archived_flows` BEGIN SELECT RAISE(ABORT, 'sums of archived charges only grow'); END;

CREATE TABLE `closed_days` (
	`day` integer PRIMARY KEY NOT NULL,
	`sealed` integer NOT NULL,
	`last` integer NOT NULL,
	`open_from` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `closed_flows` (
	`day` integer NOT NULL,
	`kind` text NOT NULL,
	`debit` text NOT NULL,
	`credit` text NOT NULL,
	`amount` integer NOT NULL,
	`entries` integer NOT NULL,
	PRIMARY KEY(`day`, `kind`, `debit`, `credit`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `closings` (
	`account` text NOT NULL,
	`day` integer NOT NULL,
	`debits` integer NOT NULL,
	`credits` integer NOT NULL,
	PRIMARY KEY(`account`, `day`)
) WITHOUT ROWID;--> statement-breakpoint
CREATE TRIGGER `closed_days_are_not_changed` BEFORE UPDATE ON `closed_days` BEGIN SELECT RAISE(ABORT, 'closed days stay as they are'); END;--> statement-breakpoint
CREATE TRIGGER `closed_days_are_not_deleted` BEFORE DELETE ON `closed_days` BEGIN SELECT RAISE(ABORT, 'closed days stay as they are'); END;--> statement-breakpoint
CREATE TRIGGER `closed_days_follow_each_other` BEFORE INSERT ON `closed_days` WHEN NEW.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this day is closed'); END;--> statement-breakpoint
CREATE TRIGGER `closings_are_not_added` BEFORE INSERT ON `closings` WHEN NEW.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this day is closed'); END;--> statement-breakpoint
CREATE TRIGGER `closings_are_not_changed` BEFORE UPDATE ON `closings` WHEN min(OLD.`day`, NEW.`day`) <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `closings_are_not_deleted` BEFORE DELETE ON `closings` WHEN OLD.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `closed_flows_are_not_added` BEFORE INSERT ON `closed_flows` WHEN NEW.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this day is closed'); END;--> statement-breakpoint
CREATE TRIGGER `closed_flows_are_not_changed` BEFORE UPDATE ON `closed_flows` WHEN min(OLD.`day`, NEW.`day`) <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `closed_flows_are_not_deleted` BEFORE DELETE ON `closed_flows` WHEN OLD.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;

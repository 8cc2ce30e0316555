CREATE TABLE `account_notes` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`at` integer NOT NULL,
	`author` text NOT NULL,
	`text` text NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `account_notes_account` ON `account_notes` (`account_id`,`id`);--> statement-breakpoint
CREATE TABLE `card_refunds` (
	`id` text PRIMARY KEY NOT NULL,
	`payment_id` text NOT NULL,
	`account_id` text NOT NULL,
	`amount` integer NOT NULL,
	`reason` text NOT NULL,
	`reference` text NOT NULL,
	`state` text NOT NULL,
	`processor_id` text,
	`last_error` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `card_refunds_reference` ON `card_refunds` (`reference`);--> statement-breakpoint
CREATE INDEX `card_refunds_payment` ON `card_refunds` (`payment_id`);--> statement-breakpoint
CREATE INDEX `card_refunds_account` ON `card_refunds` (`account_id`,`id`);--> statement-breakpoint
CREATE INDEX `card_refunds_open` ON `card_refunds` (`id`) WHERE "card_refunds"."state" IN ('asked', 'sent', 'pending');--> statement-breakpoint
CREATE TABLE `unknown_checkouts` (
	`page` text PRIMARY KEY NOT NULL,
	`payment` text,
	`messages` integer DEFAULT 1 NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`resolved_at` integer
);
--> statement-breakpoint
ALTER TABLE `accounts` ADD `support` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `suspension` text;--> statement-breakpoint
CREATE INDEX `keys_prefix` ON `keys` (`prefix`);--> statement-breakpoint
CREATE TRIGGER `events_follow_suspensions` AFTER INSERT ON `audit_log` WHEN NEW.`account_id` IS NOT NULL AND NEW.`action` IN ('account.suspend', 'account.lift') BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 7), iif(NEW.`action` = 'account.suspend', 'account.suspended', 'account.lifted'), NEW.`account_id`, NULL, NEW.`at`, json_object('reason', json_extract(NEW.`detail`, '$.reason')))
  ON CONFLICT DO NOTHING;
END;

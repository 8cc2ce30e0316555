CREATE TABLE `identity_passkey` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text,
	`public_key` text NOT NULL,
	`user_id` text NOT NULL,
	`credential_id` text NOT NULL,
	`counter` integer NOT NULL,
	`device_type` text NOT NULL,
	`backed_up` integer NOT NULL,
	`transports` text,
	`created_at` integer,
	`aaguid` text,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `identity_passkey_user_id_idx` ON `identity_passkey` (`user_id`);--> statement-breakpoint
CREATE INDEX `identity_passkey_credential_id_idx` ON `identity_passkey` (`credential_id`);--> statement-breakpoint
CREATE TABLE `identity_two_factor` (
	`id` text PRIMARY KEY NOT NULL,
	`secret` text NOT NULL,
	`backup_codes` text NOT NULL,
	`user_id` text NOT NULL,
	`verified` integer DEFAULT true,
	`failed_verification_count` integer DEFAULT 0,
	`locked_until` integer,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `identity_two_factor_secret_idx` ON `identity_two_factor` (`secret`);--> statement-breakpoint
CREATE INDEX `identity_two_factor_user_id_idx` ON `identity_two_factor` (`user_id`);--> statement-breakpoint
ALTER TABLE `identity_session` ADD `second_factor` integer DEFAULT false;--> statement-breakpoint
ALTER TABLE `identity_session` ADD `last_seen_at` integer;--> statement-breakpoint
ALTER TABLE `identity_user` ADD `two_factor_enabled` integer DEFAULT false;
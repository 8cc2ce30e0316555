CREATE TABLE `account_settings` (
	`account_id` text PRIMARY KEY NOT NULL,
	`timezone` text,
	`saved_views` text DEFAULT '[]' NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `account_notes` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`at` integer NOT NULL,
	`author` text NOT NULL,
	`text` text NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `account_notes_account` ON `account_notes` (`account_id`,`id`);
--> statement-breakpoint
CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`suspension` text,
	`growth_approved` integer DEFAULT false NOT NULL,
	`custom_limits` text,
	`most_keys` integer,
	`credit` integer DEFAULT 0 NOT NULL,
	`paid` integer DEFAULT 0 NOT NULL,
	`topped_up` integer DEFAULT 0 NOT NULL,
	`debt` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`closed_at` integer,
	CONSTRAINT "account_posted_not_negative" CHECK("accounts"."credit" >= 0 AND "accounts"."paid" >= 0),
	CONSTRAINT "account_debt_not_negative" CHECK("accounts"."debt" >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_user` ON `accounts` (`user_id`);
--> statement-breakpoint
CREATE TABLE `audit_log` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text NOT NULL,
	`address` text,
	`account_id` text,
	`key_id` text,
	`action` text NOT NULL,
	`detail` text NOT NULL,
	`before` text
);
--> statement-breakpoint
CREATE INDEX `audit_log_account` ON `audit_log` (`account_id`,`id`);
--> statement-breakpoint
CREATE TABLE `models` (
	`id` text PRIMARY KEY NOT NULL,
	`entry` text NOT NULL,
	`price_version` text NOT NULL,
	`created` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `prices` (
	`id` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL,
	`account_id` text,
	`amount` integer,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `api_closings` (
	`operation` text NOT NULL,
	`account_id` text NOT NULL,
	`price_version` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`operation`, `account_id`, `price_version`)
);
--> statement-breakpoint
CREATE TABLE `api_operations` (
	`name` text PRIMARY KEY NOT NULL,
	`api` text NOT NULL,
	`position` integer NOT NULL,
	`id` text NOT NULL,
	`method` text NOT NULL,
	`path` text NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`definition` text NOT NULL,
	`price_version` text NOT NULL,
	`tool_name` text NOT NULL,
	`enabled` integer NOT NULL,
	FOREIGN KEY (`api`) REFERENCES `apis`(`name`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`price_version`) REFERENCES `api_prices`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_operations_tool` ON `api_operations` (`tool_name`);
--> statement-breakpoint
CREATE INDEX `api_operations_api` ON `api_operations` (`api`,`position`);
--> statement-breakpoint
CREATE TABLE `api_prices` (
	`id` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL,
	`price` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `api_tools` (
	`name` text PRIMARY KEY NOT NULL,
	`operation` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_tools_operation` ON `api_tools` (`operation`);
--> statement-breakpoint
CREATE TABLE `apis` (
	`name` text PRIMARY KEY NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`base_url` text NOT NULL,
	`auth` text NOT NULL,
	`timeout_ms` integer NOT NULL,
	`concurrency` integer NOT NULL,
	`cache_seconds` integer NOT NULL,
	`headers` text NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `removed_apis` (
	`name` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `connections` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`client_id` text NOT NULL,
	`name` text DEFAULT 'App' NOT NULL,
	`created_at` integer NOT NULL,
	`disconnected_at` integer,
	`last_used_at` integer,
	`last_address` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `connections_account` ON `connections` (`account_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `connections_live` ON `connections` (`account_id`,`client_id`) WHERE "connections"."disconnected_at" IS NULL;
--> statement-breakpoint
CREATE TABLE `account_directory` (
	`account_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`role` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "account_role_is_known" CHECK("account_directory"."role" IN ('operator', 'support'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `account_directory_user` ON `account_directory` (`user_id`);
--> statement-breakpoint
CREATE INDEX `account_directory_staff` ON `account_directory` (`role`) WHERE "account_directory"."role" IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`account_id` text,
	`key_id` text,
	`at` integer NOT NULL,
	`data` text NOT NULL,
	`dispatched` integer DEFAULT false NOT NULL,
	`mailed` integer DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id` ON `events` (`id`);
--> statement-breakpoint
CREATE INDEX `events_account` ON `events` (`account_id`,`seq`);
--> statement-breakpoint
CREATE INDEX `events_waiting` ON `events` (`seq`) WHERE "events"."dispatched" = 0;
--> statement-breakpoint
CREATE INDEX `events_unmailed` ON `events` (`seq`) WHERE "events"."mailed" = 0;
--> statement-breakpoint
CREATE TABLE `notice_mails` (
	`account_id` text PRIMARY KEY NOT NULL,
	`kinds` text,
	`mailed_at` integer,
	`mailed_seq` integer DEFAULT 0 NOT NULL,
	`weekly_summary` integer DEFAULT false NOT NULL,
	`summarized_until` integer
);
--> statement-breakpoint
CREATE TABLE `notice_reads` (
	`account_id` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `pool_periods` (
	`pool_id` text NOT NULL,
	`starts_at` integer NOT NULL,
	`spent` integer NOT NULL,
	`told` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`pool_id`, `starts_at`)
);
--> statement-breakpoint
CREATE TABLE `webhook_deliveries` (
	`id` text PRIMARY KEY NOT NULL,
	`webhook_id` text NOT NULL,
	`event_id` text NOT NULL,
	`type` text NOT NULL,
	`body` text NOT NULL,
	`state` text NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`next_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`last_at` integer,
	`duration_ms` integer,
	`response_status` integer,
	`response_body` text,
	`error` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `webhook_deliveries_event` ON `webhook_deliveries` (`webhook_id`,`event_id`);
--> statement-breakpoint
CREATE INDEX `webhook_deliveries_due` ON `webhook_deliveries` (`webhook_id`,`next_at`) WHERE "webhook_deliveries"."state" = 'pending';
--> statement-breakpoint
CREATE INDEX `webhook_deliveries_expiry` ON `webhook_deliveries` (`expires_at`) WHERE "webhook_deliveries"."state" = 'pending';
--> statement-breakpoint
CREATE TABLE `webhook_hosts` (
	`host` text PRIMARY KEY NOT NULL,
	`failures` integer NOT NULL,
	`since` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`url` text NOT NULL,
	`events` text NOT NULL,
	`status` text NOT NULL,
	`confirmed_at` integer,
	`code_tries` integer DEFAULT 0 NOT NULL,
	`dropped` integer DEFAULT 0 NOT NULL,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_until` integer,
	`failing_since` integer,
	`created_at` integer NOT NULL,
	`connection_id` text
);
--> statement-breakpoint
CREATE INDEX `webhooks_account` ON `webhooks` (`account_id`);
--> statement-breakpoint
CREATE INDEX `webhooks_connection` ON `webhooks` (`connection_id`) WHERE "webhooks"."connection_id" IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `kept_answers` (
	`account_id` text NOT NULL,
	`operation` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`state` text NOT NULL,
	`request_id` text NOT NULL,
	`body` text,
	`headers` text NOT NULL,
	`at` integer NOT NULL,
	PRIMARY KEY(`account_id`, `operation`, `key`)
);
--> statement-breakpoint
CREATE INDEX `kept_answers_at` ON `kept_answers` (`at`);
--> statement-breakpoint
CREATE INDEX `kept_answers_request` ON `kept_answers` (`request_id`);
--> statement-breakpoint
CREATE TABLE `identity_account` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`user_id` text NOT NULL,
	`access_token` text,
	`refresh_token` text,
	`id_token` text,
	`access_token_expires_at` integer,
	`refresh_token_expires_at` integer,
	`scope` text,
	`password` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `identity_account_user_id_idx` ON `identity_account` (`user_id`);
--> statement-breakpoint
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
CREATE INDEX `identity_passkey_user_id_idx` ON `identity_passkey` (`user_id`);
--> statement-breakpoint
CREATE INDEX `identity_passkey_credential_id_idx` ON `identity_passkey` (`credential_id`);
--> statement-breakpoint
CREATE TABLE `identity_session` (
	`id` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL,
	`token` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`ip_address` text,
	`user_agent` text,
	`user_id` text NOT NULL,
	`second_factor` integer DEFAULT false,
	`last_seen_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `identity_session_token_unique` ON `identity_session` (`token`);
--> statement-breakpoint
CREATE INDEX `identity_session_user_id_idx` ON `identity_session` (`user_id`);
--> statement-breakpoint
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
CREATE INDEX `identity_two_factor_secret_idx` ON `identity_two_factor` (`secret`);
--> statement-breakpoint
CREATE INDEX `identity_two_factor_user_id_idx` ON `identity_two_factor` (`user_id`);
--> statement-breakpoint
CREATE TABLE `identity_user` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`email_verified` integer DEFAULT false NOT NULL,
	`image` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`two_factor_enabled` integer DEFAULT false
);
--> statement-breakpoint
CREATE UNIQUE INDEX `identity_user_email_unique` ON `identity_user` (`email`);
--> statement-breakpoint
CREATE TABLE `identity_verification` (
	`id` text PRIMARY KEY NOT NULL,
	`identifier` text NOT NULL,
	`value` text NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `identity_verification_identifier_idx` ON `identity_verification` (`identifier`);
--> statement-breakpoint
CREATE TABLE `keys` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`last4` text NOT NULL,
	`name` text NOT NULL,
	`allowed_ips` text NOT NULL,
	`allowed_endpoints` text NOT NULL,
	`allowed_models` text NOT NULL,
	`rpm_limit` integer,
	`tpm_limit` integer,
	`note` text,
	`tags` text DEFAULT '[]' NOT NULL,
	`pinned_operations` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL,
	`created_by` text,
	`expires_at` integer,
	`disabled_at` integer,
	`revoked_at` integer,
	`stops_at` integer,
	`last_used_at` integer,
	`replaces` text,
	`replaced_by` text,
	`endpoints_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `keys_hash` ON `keys` (`hash`);
--> statement-breakpoint
CREATE INDEX `keys_account` ON `keys` (`account_id`,`id`);
--> statement-breakpoint
CREATE INDEX `keys_live` ON `keys` (`account_id`,CASE WHEN "stops_at" IS NULL THEN 9007199254740991 ELSE "stops_at" END) WHERE "keys"."revoked_at" IS NULL;
--> statement-breakpoint
CREATE INDEX `keys_prefix` ON `keys` (`prefix`);
--> statement-breakpoint
CREATE UNIQUE INDEX `keys_live_name` ON `keys` (`account_id`,`name`) WHERE "keys"."revoked_at" IS NULL AND "keys"."replaced_by" IS NULL;
--> statement-breakpoint
CREATE TABLE `pools` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`spending_limit` integer,
	`spent` integer DEFAULT 0 NOT NULL,
	`budget` text,
	`parent_id` text,
	`limit_version` integer DEFAULT 0 NOT NULL,
	`limit_told` integer DEFAULT 0 NOT NULL,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
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
) WITHOUT ROWID;
--> statement-breakpoint
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
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `entries` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`transaction_id` text NOT NULL,
	`kind` text NOT NULL,
	`account_id` text,
	`debit` text NOT NULL,
	`credit` text NOT NULL,
	`amount` integer NOT NULL,
	`at` integer NOT NULL,
	`request_id` text,
	`description` text NOT NULL,
	`reference` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "entry_amount_positive" CHECK("entries"."amount" > 0),
	CONSTRAINT "entry_moves" CHECK("entries"."debit" <> "entries"."credit")
);
--> statement-breakpoint
CREATE INDEX `entries_account` ON `entries` (`account_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `entries_reference` ON `entries` (`reference`) WHERE "entries"."reference" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `entries_other` ON `entries` (`kind`,`amount`) WHERE "entries"."kind" <> 'charge';
--> statement-breakpoint
CREATE TABLE `limit_requests` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`at` integer NOT NULL,
	`status` text NOT NULL,
	`peak_rpm` integer NOT NULL,
	`peak_tpm` integer NOT NULL,
	`endpoints` text NOT NULL,
	`use_case` text NOT NULL,
	`reason` text,
	`decided_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `limit_requests_account` ON `limit_requests` (`account_id`,`id`);
--> statement-breakpoint
CREATE INDEX `limit_requests_status` ON `limit_requests` (`status`,`id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `limit_requests_one_open` ON `limit_requests` (`account_id`) WHERE "limit_requests"."status" = 'pending';
--> statement-breakpoint
CREATE TABLE `oauth_access_token` (
	`id` text PRIMARY KEY NOT NULL,
	`token` text NOT NULL,
	`client_id` text NOT NULL,
	`session_id` text,
	`user_id` text,
	`reference_id` text,
	`authorization_code_id` text,
	`resources` text,
	`requested_user_info_claims` text,
	`refresh_id` text,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`revoked` integer,
	`confirmation` text,
	`scopes` text NOT NULL,
	FOREIGN KEY (`client_id`) REFERENCES `oauth_client`(`client_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `identity_session`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`refresh_id`) REFERENCES `oauth_refresh_token`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_access_token_token_unique` ON `oauth_access_token` (`token`);
--> statement-breakpoint
CREATE INDEX `oauth_access_token_client_id_idx` ON `oauth_access_token` (`client_id`);
--> statement-breakpoint
CREATE INDEX `oauth_access_token_session_id_idx` ON `oauth_access_token` (`session_id`);
--> statement-breakpoint
CREATE INDEX `oauth_access_token_user_id_idx` ON `oauth_access_token` (`user_id`);
--> statement-breakpoint
CREATE INDEX `oauth_access_token_authorization_code_id_idx` ON `oauth_access_token` (`authorization_code_id`);
--> statement-breakpoint
CREATE INDEX `oauth_access_token_refresh_id_idx` ON `oauth_access_token` (`refresh_id`);
--> statement-breakpoint
CREATE TABLE `oauth_client` (
	`id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`client_secret` text,
	`client_discovery_id` text,
	`disabled` integer DEFAULT false,
	`skip_consent` integer,
	`enable_end_session` integer,
	`subject_type` text,
	`scopes` text,
	`client_credentials_scopes` text DEFAULT '[]',
	`user_id` text,
	`created_at` integer,
	`updated_at` integer,
	`name` text,
	`uri` text,
	`icon` text,
	`contacts` text,
	`tos` text,
	`policy` text,
	`software_id` text,
	`software_version` text,
	`software_statement` text,
	`redirect_uris` text NOT NULL,
	`post_logout_redirect_uris` text,
	`backchannel_logout_uri` text,
	`backchannel_logout_session_required` integer,
	`token_endpoint_auth_method` text,
	`application_type` text,
	`jwks` text,
	`jwks_uri` text,
	`grant_types` text,
	`response_types` text,
	`require_pkce` integer,
	`dpop_bound_access_tokens` integer DEFAULT false,
	`reference_id` text,
	`metadata` text,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_client_client_id_unique` ON `oauth_client` (`client_id`);
--> statement-breakpoint
CREATE INDEX `oauth_client_user_id_idx` ON `oauth_client` (`user_id`);
--> statement-breakpoint
CREATE TABLE `oauth_client_assertion` (
	`id` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `oauth_client_resource` (
	`id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`resource_id` text NOT NULL,
	`metadata` text,
	`created_at` integer,
	FOREIGN KEY (`client_id`) REFERENCES `oauth_client`(`client_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`resource_id`) REFERENCES `oauth_resource`(`identifier`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_client_resource_client_id_resource_id_uidx` ON `oauth_client_resource` (`client_id`,`resource_id`);
--> statement-breakpoint
CREATE INDEX `oauth_client_resource_client_id_idx` ON `oauth_client_resource` (`client_id`);
--> statement-breakpoint
CREATE INDEX `oauth_client_resource_resource_id_idx` ON `oauth_client_resource` (`resource_id`);
--> statement-breakpoint
CREATE TABLE `oauth_consent` (
	`id` text PRIMARY KEY NOT NULL,
	`client_id` text NOT NULL,
	`user_id` text,
	`reference_id` text,
	`resources` text,
	`requested_user_info_claims` text,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`client_id`) REFERENCES `oauth_client`(`client_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `oauth_consent_client_id_idx` ON `oauth_consent` (`client_id`);
--> statement-breakpoint
CREATE INDEX `oauth_consent_user_id_idx` ON `oauth_consent` (`user_id`);
--> statement-breakpoint
CREATE TABLE `oauth_device_code` (
	`id` text PRIMARY KEY NOT NULL,
	`device_code` text NOT NULL,
	`user_code` text NOT NULL,
	`user_id` text,
	`expires_at` integer NOT NULL,
	`status` text NOT NULL,
	`last_polled_at` integer,
	`polling_interval` integer,
	`client_id` text,
	`scope` text,
	`resources` text,
	`oauth_client_id` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_device_code_device_code_uidx` ON `oauth_device_code` (`device_code`);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_device_code_user_code_uidx` ON `oauth_device_code` (`user_code`);
--> statement-breakpoint
CREATE TABLE `oauth_refresh_token` (
	`id` text PRIMARY KEY NOT NULL,
	`token` text NOT NULL,
	`client_id` text NOT NULL,
	`session_id` text,
	`user_id` text NOT NULL,
	`reference_id` text,
	`authorization_code_id` text,
	`resources` text,
	`requested_user_info_claims` text,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`revoked` integer,
	`rotated_at` integer,
	`rotation_replay_response` text,
	`rotation_replay_expires_at` integer,
	`auth_time` integer,
	`confirmation` text,
	`scopes` text NOT NULL,
	FOREIGN KEY (`client_id`) REFERENCES `oauth_client`(`client_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`session_id`) REFERENCES `identity_session`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`user_id`) REFERENCES `identity_user`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_refresh_token_token_unique` ON `oauth_refresh_token` (`token`);
--> statement-breakpoint
CREATE INDEX `oauth_refresh_token_client_id_idx` ON `oauth_refresh_token` (`client_id`);
--> statement-breakpoint
CREATE INDEX `oauth_refresh_token_session_id_idx` ON `oauth_refresh_token` (`session_id`);
--> statement-breakpoint
CREATE INDEX `oauth_refresh_token_user_id_idx` ON `oauth_refresh_token` (`user_id`);
--> statement-breakpoint
CREATE INDEX `oauth_refresh_token_authorization_code_id_idx` ON `oauth_refresh_token` (`authorization_code_id`);
--> statement-breakpoint
CREATE TABLE `oauth_resource` (
	`id` text PRIMARY KEY NOT NULL,
	`identifier` text NOT NULL,
	`name` text NOT NULL,
	`access_token_ttl` integer,
	`refresh_token_ttl` integer,
	`signing_algorithm` text,
	`signing_key_id` text,
	`allowed_scopes` text,
	`custom_claims` text,
	`dpop_bound_access_tokens_required` integer DEFAULT false,
	`disabled` integer DEFAULT false,
	`created_at` integer,
	`updated_at` integer,
	`policy_version` integer DEFAULT 1,
	`metadata` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_resource_identifier_unique` ON `oauth_resource` (`identifier`);
--> statement-breakpoint
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
CREATE UNIQUE INDEX `card_refunds_reference` ON `card_refunds` (`reference`);
--> statement-breakpoint
CREATE INDEX `card_refunds_payment` ON `card_refunds` (`payment_id`);
--> statement-breakpoint
CREATE INDEX `card_refunds_account` ON `card_refunds` (`account_id`,`id`);
--> statement-breakpoint
CREATE INDEX `card_refunds_open` ON `card_refunds` (`id`) WHERE "card_refunds"."state" IN ('asked', 'sent', 'pending');
--> statement-breakpoint
CREATE TABLE `reconciliations` (
	`id` text PRIMARY KEY NOT NULL,
	`actor` text NOT NULL,
	`started_at` integer NOT NULL,
	`ended_at` integer NOT NULL,
	`is_applied` integer NOT NULL,
	`is_complete` integer NOT NULL,
	`problems` integer NOT NULL,
	`result` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `restore_checks` (
	`restored_at` integer PRIMARY KEY NOT NULL,
	`checked_at` integer NOT NULL,
	`actor` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `unknown_checkouts` (
	`page` text PRIMARY KEY NOT NULL,
	`payment` text,
	`messages` integer DEFAULT 1 NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`resolved_at` integer
);
--> statement-breakpoint
CREATE TABLE `owner` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`asserted` integer NOT NULL,
	`last_group` integer NOT NULL,
	`applied_group` integer DEFAULT 0 NOT NULL,
	`version` text,
	CONSTRAINT "owner_epoch_is_current" CHECK("owner"."asserted" = "owner"."epoch")
);
--> statement-breakpoint
CREATE TABLE `payment_answers` (
	`key` text PRIMARY KEY NOT NULL,
	`body` text NOT NULL,
	`at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `payment_answers_at` ON `payment_answers` (`at`);
--> statement-breakpoint
CREATE TABLE `payments` (
	`id` text PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`purpose` text NOT NULL,
	`operation` text NOT NULL,
	`account_id` text,
	`method` text NOT NULL,
	`payer` text NOT NULL,
	`amount` integer NOT NULL,
	`currency` text NOT NULL,
	`binding` text NOT NULL,
	`credential_hash` text NOT NULL,
	`transaction_id` text NOT NULL,
	`valid_before` integer,
	`request_id` text NOT NULL,
	`client_request_id` text,
	`address_group` text,
	`state` text NOT NULL,
	`paid` integer NOT NULL,
	`lease_until` integer NOT NULL,
	`attempts` integer NOT NULL,
	`deliveries` integer DEFAULT 0 NOT NULL,
	`sent_at` integer,
	`our_trouble` integer DEFAULT false NOT NULL,
	`next_look_at` integer DEFAULT 0 NOT NULL,
	`looks` integer DEFAULT 0 NOT NULL,
	`reference` text,
	`last_error` text,
	`upstream_cost` integer,
	`refused_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	CONSTRAINT "payment_state" CHECK("payments"."state" IN ('working', 'released', 'settling', 'settled', 'served', 'paid_unserved')),
	CONSTRAINT "payment_served_is_paid" CHECK("payments"."paid" = 1 OR "payments"."state" NOT IN ('settled', 'served', 'paid_unserved'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `payments_key` ON `payments` (`key`);
--> statement-breakpoint
CREATE INDEX `payments_account` ON `payments` (`account_id`,`id`) WHERE "payments"."account_id" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `payments_credential` ON `payments` (`credential_hash`);
--> statement-breakpoint
CREATE INDEX `payments_due` ON `payments` (`next_look_at`) WHERE "state" IN ('working', 'settling', 'settled') OR ("state" = 'paid_unserved' AND "purpose" = 'top_up');
--> statement-breakpoint
CREATE INDEX `payments_payer_open` ON `payments` (`payer`) WHERE "payments"."state" IN ('working', 'settling');
--> statement-breakpoint
CREATE INDEX `payments_address_open` ON `payments` (`address_group`) WHERE "payments"."state" IN ('working', 'settling');
--> statement-breakpoint
CREATE INDEX `payments_payer` ON `payments` (`payer`,`updated_at`);
--> statement-breakpoint
CREATE INDEX `payments_payer_refused` ON `payments` (`payer`,`refused_at`) WHERE "payments"."refused_at" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `payments_address_refused` ON `payments` (`address_group`,`refused_at`) WHERE "payments"."refused_at" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `payments_imported` ON `payments` (`created_at`) WHERE "paid" = 1 AND "purpose" = 'call' AND instr("operation", '.') > 0;
--> statement-breakpoint
CREATE INDEX `payments_never_paid` ON `payments` (`updated_at`) WHERE "payments"."state" = 'released' AND "payments"."paid" = 0;
--> statement-breakpoint
CREATE TABLE `signup_credits` (
	`user_id` text PRIMARY KEY NOT NULL,
	`network` text,
	`amount` integer NOT NULL,
	`at` integer NOT NULL,
	`state` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `signup_credits_at` ON `signup_credits` (`at`);
--> statement-breakpoint
CREATE TABLE `social_approvals` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`key_id` text NOT NULL,
	`network` text NOT NULL,
	`user_id` text NOT NULL,
	`username` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`access_token` text NOT NULL,
	`refresh_token` text,
	`access_expires_at` integer NOT NULL,
	`linked_at` integer NOT NULL,
	`refreshed_at` integer,
	`revoked_at` integer,
	`missing_scope` text,
	`link_id` text NOT NULL,
	`proof_hash` text NOT NULL,
	`expires_at` integer NOT NULL,
	`confirmed_at` integer,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `keys`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`link_id`) REFERENCES `social_links`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `social_approvals_proof` ON `social_approvals` (`proof_hash`);
--> statement-breakpoint
CREATE INDEX `social_approvals_pool` ON `social_approvals` (`pool_id`);
--> statement-breakpoint
CREATE INDEX `social_approvals_expires` ON `social_approvals` (`expires_at`);
--> statement-breakpoint
CREATE TABLE `social_links` (
	`id` text PRIMARY KEY NOT NULL,
	`state_hash` text NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`key_id` text NOT NULL,
	`scopes` text NOT NULL,
	`verifier` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	`outcome` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `keys`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `social_links_state` ON `social_links` (`state_hash`);
--> statement-breakpoint
CREATE INDEX `social_links_account` ON `social_links` (`account_id`,`pool_id`,`id`);
--> statement-breakpoint
CREATE TABLE `social_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`pool_id` text NOT NULL,
	`key_id` text NOT NULL,
	`network` text NOT NULL,
	`user_id` text NOT NULL,
	`username` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text NOT NULL,
	`access_token` text NOT NULL,
	`refresh_token` text,
	`access_expires_at` integer NOT NULL,
	`linked_at` integer NOT NULL,
	`refreshed_at` integer,
	`revoked_at` integer,
	`missing_scope` text,
	FOREIGN KEY (`account_id`) REFERENCES `accounts`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`pool_id`) REFERENCES `pools`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`key_id`) REFERENCES `keys`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `social_sessions_pool` ON `social_sessions` (`pool_id`);
--> statement-breakpoint
CREATE INDEX `social_sessions_account` ON `social_sessions` (`account_id`,`id`);
--> statement-breakpoint
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
CREATE UNIQUE INDEX `stuck_records_id` ON `stuck_records` (`id`);
--> statement-breakpoint
CREATE INDEX `stuck_records_request` ON `stuck_records` (`request_id`);
--> statement-breakpoint
CREATE TABLE `upstream_payments` (
	`request` text PRIMARY KEY NOT NULL,
	`account` text,
	`operation` text NOT NULL,
	`api` text NOT NULL,
	`chain_id` integer NOT NULL,
	`token` text NOT NULL,
	`payer` text NOT NULL,
	`payee` text NOT NULL,
	`amount` text NOT NULL,
	`cost` integer NOT NULL,
	`fee` integer DEFAULT 0 NOT NULL,
	`nonce` text NOT NULL,
	`valid_before` integer NOT NULL,
	`state` text NOT NULL,
	`signed_at` integer NOT NULL,
	`ended_at` integer,
	`reference` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `upstream_payments_nonce` ON `upstream_payments` (`nonce`);
--> statement-breakpoint
CREATE INDEX `upstream_payments_open` ON `upstream_payments` (`state`,`valid_before`);
--> statement-breakpoint
CREATE INDEX `upstream_payments_signed` ON `upstream_payments` (`signed_at`);
--> statement-breakpoint
CREATE TABLE `kept_holds` (
	`id` text PRIMARY KEY NOT NULL,
	`hold` text NOT NULL,
	`call` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `pruned` (
	`name` text PRIMARY KEY NOT NULL,
	`before` integer NOT NULL,
	`cursor` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `requests` (
	`id` text PRIMARY KEY NOT NULL,
	`client_request_id` text,
	`account_id` text NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`at` integer NOT NULL,
	`status` integer NOT NULL,
	`code` text,
	`latency_ms` integer NOT NULL,
	`address` text NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`cost` integer NOT NULL,
	`price_version` text,
	`unit_price` integer,
	`units` integer,
	`model` text,
	`usage_source` text,
	`charge_lines` text,
	`provider` text,
	`waiting_ms` integer,
	`upstream_ms` integer,
	`failure` text,
	`upstream_cost` integer,
	`held` integer,
	`repeats` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `requests_account` ON `requests` (`account_id`,`at`);
--> statement-breakpoint
CREATE INDEX `requests_client_id` ON `requests` (`account_id`,`client_request_id`) WHERE "requests"."client_request_id" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `requests_failed` ON `requests` (`account_id`,`status`,`at`) WHERE "requests"."status" <> 200;
--> statement-breakpoint
CREATE TABLE `usage_days` (
	`account_id` text NOT NULL,
	`day` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`status` integer NOT NULL,
	`model` text DEFAULT '' NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`charged` integer NOT NULL,
	`upstream_cost` integer DEFAULT 0 NOT NULL,
	`upstream_cost_calls` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`account_id`, `day`, `key_id`, `operation`, `status`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `usage_latency` (
	`account_id` text NOT NULL,
	`slot` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`bucket` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`account_id`, `slot`, `key_id`, `operation`, `provider`, `model`, `bucket`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `usage_latency_days` (
	`account_id` text NOT NULL,
	`day` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`bucket` integer NOT NULL,
	`calls` integer NOT NULL,
	PRIMARY KEY(`account_id`, `day`, `key_id`, `operation`, `provider`, `model`, `bucket`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `usage_rollup` (
	`account_id` text NOT NULL,
	`slot` integer NOT NULL,
	`key_id` text NOT NULL,
	`operation` text NOT NULL,
	`status` integer NOT NULL,
	`model` text DEFAULT '' NOT NULL,
	`requests` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cache_read_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`charged` integer NOT NULL,
	`upstream_cost` integer DEFAULT 0 NOT NULL,
	`upstream_cost_calls` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`account_id`, `slot`, `key_id`, `operation`, `status`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `owner` (`id`, `epoch`, `asserted`, `last_group`, `applied_group`) VALUES (1, 0, 0, 0, 0);
--> statement-breakpoint
CREATE TRIGGER `entries_are_not_changed` BEFORE UPDATE ON `entries` BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `api_prices_are_not_changed` BEFORE UPDATE ON `api_prices` BEGIN SELECT RAISE(ABORT, 'api_prices are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `api_prices_are_not_deleted` BEFORE DELETE ON `api_prices` BEGIN SELECT RAISE(ABORT, 'api_prices are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `api_tools_are_not_changed` BEFORE UPDATE ON `api_tools` BEGIN SELECT RAISE(ABORT, 'api_tools are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `api_tools_are_not_deleted` BEFORE DELETE ON `api_tools` BEGIN SELECT RAISE(ABORT, 'api_tools are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_audit` AFTER INSERT ON `audit_log` WHEN NEW.`account_id` IS NOT NULL AND NEW.`action` IN ('key.create', 'key.rotate', 'key.disable', 'key.revoke', 'limits.request', 'limits.approved', 'limits.declined', 'social.linked', 'social.revoked', 'connection.open', 'connection.end') BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 7), CASE NEW.`action` WHEN 'key.create' THEN 'key.created' WHEN 'key.rotate' THEN 'key.rotated' WHEN 'key.disable' THEN 'key.disabled' WHEN 'key.revoke' THEN 'key.revoked' WHEN 'limits.request' THEN 'limits.requested' WHEN 'limits.approved' THEN 'limits.decided' WHEN 'limits.declined' THEN 'limits.decided' WHEN 'social.linked' THEN 'social.linked' WHEN 'social.revoked' THEN 'social.revoked' WHEN 'connection.open' THEN 'app.connected' WHEN 'connection.end' THEN 'app.disconnected' END, NEW.`account_id`, NEW.`key_id`, NEW.`at`, iif(NEW.`action` LIKE 'key.%', '{}', NEW.`detail`))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_limits` AFTER UPDATE OF `spent` ON `pools` WHEN NEW.`spending_limit` > 0 AND CASE WHEN NEW.`spent` >= NEW.`spending_limit` THEN 100 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 80 THEN 80 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 50 THEN 50 ELSE 0 END > NEW.`limit_told` BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  SELECT 'evt_' || substr(NEW.`id`, 6) || '_limit' || NEW.`limit_version` || '_' || `s`.`step`, 'budget.threshold', NEW.`account_id`, (SELECT `id` FROM `keys` WHERE `account_id` = NEW.`account_id` AND `pool_id` = NEW.`id` AND `revoked_at` IS NULL AND `replaced_by` IS NULL LIMIT 1), (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('percent', `s`.`step`, 'limit_micros_usd', NEW.`spending_limit`, 'spent_micros_usd', NEW.`spent`, 'period', NULL, 'app_id', (SELECT `id` FROM `connections` WHERE `account_id` = NEW.`account_id` AND `pool_id` = NEW.`id`))
  FROM (SELECT 50 AS `step` UNION ALL SELECT 80 UNION ALL SELECT 100) `s` WHERE `s`.`step` > NEW.`limit_told` AND NEW.`spent` * 100 >= NEW.`spending_limit` * `s`.`step`
  ON CONFLICT DO NOTHING;
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  SELECT 'evt_' || substr(NEW.`id`, 6) || '_limit' || NEW.`limit_version` || '_exhausted', 'key.exhausted', `k`.`account_id`, `k`.`id`, (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), '{}'
  FROM `keys` `k` WHERE NEW.`spent` >= NEW.`spending_limit` AND `k`.`account_id` = NEW.`account_id` AND `k`.`pool_id` = NEW.`id` AND `k`.`revoked_at` IS NULL AND `k`.`replaced_by` IS NULL
  ON CONFLICT DO NOTHING;
  UPDATE `pools` SET `limit_told` = CASE WHEN NEW.`spent` >= NEW.`spending_limit` THEN 100 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 80 THEN 80 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 50 THEN 50 ELSE 0 END WHERE `id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `a_new_limit_tells_again` AFTER UPDATE OF `spending_limit` ON `pools` WHEN NEW.`spending_limit` IS NOT OLD.`spending_limit` BEGIN
  UPDATE `pools` SET `limit_version` = `limit_version` + 1, `limit_told` = CASE WHEN coalesce(NEW.`spending_limit`, 0) = 0 THEN 0 ELSE CASE WHEN NEW.`spent` >= NEW.`spending_limit` THEN 100 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 80 THEN 80 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 50 THEN 50 ELSE 0 END END WHERE `id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `a_new_budget_counts_again` AFTER UPDATE OF `budget` ON `pools` WHEN NEW.`budget` IS NOT OLD.`budget` BEGIN
  DELETE FROM `pool_periods` WHERE `pool_id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `pool_periods_begin` AFTER INSERT ON `pool_periods` BEGIN
  DELETE FROM `pool_periods` WHERE `pool_id` = NEW.`pool_id` AND `starts_at` < NEW.`starts_at` - 8000000000;
  UPDATE `pool_periods` SET `spent` = (SELECT coalesce(sum(`u`.`charged`), 0) FROM `pools` `p` JOIN `usage_rollup` `u` ON `u`.`account_id` = `p`.`account_id` AND `u`.`slot` >= NEW.`starts_at` / 900000 WHERE `p`.`id` = NEW.`pool_id` AND `u`.`key_id` IN (SELECT `k`.`id` FROM `keys` `k` WHERE `k`.`account_id` = `p`.`account_id` AND `k`.`pool_id` = `p`.`id`))
  WHERE `pool_id` = NEW.`pool_id` AND `starts_at` = NEW.`starts_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_budgets` AFTER UPDATE OF `spent` ON `pool_periods` WHEN NEW.`told` < 100 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  SELECT 'evt_' || substr(`p`.`id`, 6) || '_' || json_extract(`p`.`budget`, '$.period') || NEW.`starts_at` || '_' || `s`.`step`, 'budget.threshold', `p`.`account_id`, (SELECT `id` FROM `keys` WHERE `account_id` = `p`.`account_id` AND `pool_id` = `p`.`id` AND `revoked_at` IS NULL AND `replaced_by` IS NULL LIMIT 1), (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('percent', `s`.`step`, 'limit_micros_usd', CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER), 'spent_micros_usd', NEW.`spent`, 'period', json_extract(`p`.`budget`, '$.period'), 'period_starts_at', NEW.`starts_at`, 'app_id', NULL)
  FROM `pools` `p` JOIN (SELECT 50 AS `step` UNION ALL SELECT 80 UNION ALL SELECT 100) `s` WHERE `p`.`id` = NEW.`pool_id` AND `p`.`budget` IS NOT NULL AND `s`.`step` > NEW.`told` AND NEW.`spent` * 100 >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) * `s`.`step`
  ON CONFLICT DO NOTHING;
  UPDATE `pool_periods` SET `told` = max(`told`, coalesce((SELECT CASE WHEN NEW.`spent` >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) THEN 100 WHEN NEW.`spent` * 100 >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) * 80 THEN 80 WHEN NEW.`spent` * 100 >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) * 50 THEN 50 ELSE 0 END FROM `pools` `p` WHERE `p`.`id` = NEW.`pool_id` AND `p`.`budget` IS NOT NULL), 0))
  WHERE `pool_id` = NEW.`pool_id` AND `starts_at` = NEW.`starts_at`;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_low_balances` AFTER UPDATE OF `credit`, `paid` ON `accounts` WHEN OLD.`credit` + OLD.`paid` >= 1000000 AND NEW.`credit` + NEW.`paid` < 1000000 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 6) || '_low' || (SELECT max(`seq`) FROM `entries`), 'balance.low', NEW.`id`, NULL, (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('balance_micros_usd', NEW.`credit` + NEW.`paid` - NEW.`debt`, 'below_micros_usd', 1000000))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_empty_balances` AFTER UPDATE OF `credit`, `paid` ON `accounts` WHEN OLD.`credit` + OLD.`paid` >= 10000 AND NEW.`credit` + NEW.`paid` < 10000 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 6) || '_empty' || (SELECT max(`seq`) FROM `entries`), 'balance.empty', NEW.`id`, NULL, (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('balance_micros_usd', NEW.`credit` + NEW.`paid` - NEW.`debt`, 'below_micros_usd', 10000))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_tiers` AFTER UPDATE OF `topped_up`, `growth_approved`, `custom_limits` ON `accounts` WHEN CASE WHEN NEW.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN NEW.`growth_approved` OR NEW.`topped_up` >= 500000000 THEN 'growth' WHEN NEW.`topped_up` > 0 THEN 'starter' ELSE 'free' END <> CASE WHEN OLD.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN OLD.`growth_approved` OR OLD.`topped_up` >= 500000000 THEN 'growth' WHEN OLD.`topped_up` > 0 THEN 'starter' ELSE 'free' END BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || lower(hex(randomblob(16))), 'tier.changed', NEW.`id`, NULL, CAST(unixepoch('subsec') * 1000 AS INTEGER), json_object('tier', CASE WHEN NEW.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN NEW.`growth_approved` OR NEW.`topped_up` >= 500000000 THEN 'growth' WHEN NEW.`topped_up` > 0 THEN 'starter' ELSE 'free' END, 'previous_tier', CASE WHEN OLD.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN OLD.`growth_approved` OR OLD.`topped_up` >= 500000000 THEN 'growth' WHEN OLD.`topped_up` > 0 THEN 'starter' ELSE 'free' END));
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_top_ups` AFTER INSERT ON `entries` WHEN NEW.`kind` = 'top_up' AND NEW.`account_id` IS NOT NULL BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`transaction_id`, 5) || '_topup', 'topup.completed', NEW.`account_id`, NULL, NEW.`at`, json_object('transaction_id', NEW.`transaction_id`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO UPDATE SET `data` = json_set(`data`, '$.amount_micros_usd', json_extract(`data`, '$.amount_micros_usd') + NEW.`amount`);
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_failed_top_ups` AFTER UPDATE OF `state` ON `payments` WHEN NEW.`purpose` = 'top_up' AND NEW.`account_id` IS NOT NULL AND NEW.`state` = 'released' AND OLD.`state` <> 'released' BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 5) || '_topup_failed', 'topup.failed', NEW.`account_id`, NULL, NEW.`updated_at`, json_object('payment_id', NEW.`id`, 'operation', NEW.`operation`, 'method', NEW.`method`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_refused_payments` AFTER UPDATE OF `refused_at` ON `payments` WHEN NEW.`purpose` = 'call' AND NEW.`refused_at` IS NOT NULL AND OLD.`refused_at` IS NULL BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 5) || '_payment_failed', 'payment.failed', NULL, NULL, NEW.`updated_at`, json_object('payment_id', NEW.`id`, 'operation', NEW.`operation`, 'method', NEW.`method`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_unserved_payments` AFTER UPDATE OF `state` ON `payments` WHEN NEW.`purpose` = 'call' AND NEW.`state` = 'paid_unserved' AND OLD.`state` <> 'paid_unserved' BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 5) || '_payment_unserved', 'payment.unserved', NULL, NULL, NEW.`updated_at`, json_object('payment_id', NEW.`id`, 'operation', NEW.`operation`, 'method', NEW.`method`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_overruns` AFTER INSERT ON `api_closings` BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || lower(hex(randomblob(16))), 'operation.overrun', NULL, NULL, NEW.`at`, json_object('operation', NEW.`operation`, 'workspace_id', NEW.`account_id`, 'price_version', NEW.`price_version`));
END;
--> statement-breakpoint
CREATE TRIGGER `latency_days_follow_new_slots` AFTER INSERT ON `usage_latency` BEGIN INSERT INTO `usage_latency_days` VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`provider`, NEW.`model`, NEW.`bucket`, NEW.`calls`) ON CONFLICT DO UPDATE SET `calls` = `calls` + excluded.`calls`; END;
--> statement-breakpoint
CREATE TRIGGER `latency_days_follow_slots` AFTER UPDATE ON `usage_latency` BEGIN INSERT INTO `usage_latency_days` VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`provider`, NEW.`model`, NEW.`bucket`, NEW.`calls` - OLD.`calls`) ON CONFLICT DO UPDATE SET `calls` = `calls` + excluded.`calls`; END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_suspensions` AFTER INSERT ON `audit_log` WHEN NEW.`account_id` IS NOT NULL AND NEW.`action` IN ('account.suspend', 'account.lift') BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 7), iif(NEW.`action` = 'account.suspend', 'account.suspended', 'account.lifted'), NEW.`account_id`, NULL, NEW.`at`, json_object('reason', json_extract(NEW.`detail`, '$.reason')))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `usage_days_follow_new_slots` AFTER INSERT ON `usage_rollup` BEGIN INSERT INTO `usage_days` (`account_id`, `day`, `key_id`, `operation`, `status`, `model`, `requests`, `input_tokens`, `output_tokens`, `cache_read_tokens`, `cache_write_tokens`, `charged`, `upstream_cost`, `upstream_cost_calls`) VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`status`, NEW.`model`, NEW.`requests`, NEW.`input_tokens`, NEW.`output_tokens`, NEW.`cache_read_tokens`, NEW.`cache_write_tokens`, NEW.`charged`, NEW.`upstream_cost`, NEW.`upstream_cost_calls`) ON CONFLICT DO UPDATE SET `requests` = `requests` + excluded.`requests`, `input_tokens` = `input_tokens` + excluded.`input_tokens`, `output_tokens` = `output_tokens` + excluded.`output_tokens`, `cache_read_tokens` = `cache_read_tokens` + excluded.`cache_read_tokens`, `cache_write_tokens` = `cache_write_tokens` + excluded.`cache_write_tokens`, `charged` = `charged` + excluded.`charged`, `upstream_cost` = `upstream_cost` + excluded.`upstream_cost`, `upstream_cost_calls` = `upstream_cost_calls` + excluded.`upstream_cost_calls`; END;
--> statement-breakpoint
CREATE TRIGGER `usage_days_follow_slots` AFTER UPDATE ON `usage_rollup` BEGIN INSERT INTO `usage_days` (`account_id`, `day`, `key_id`, `operation`, `status`, `model`, `requests`, `input_tokens`, `output_tokens`, `cache_read_tokens`, `cache_write_tokens`, `charged`, `upstream_cost`, `upstream_cost_calls`) VALUES (NEW.`account_id`, NEW.`slot` / 96, NEW.`key_id`, NEW.`operation`, NEW.`status`, NEW.`model`, NEW.`requests` - OLD.`requests`, NEW.`input_tokens` - OLD.`input_tokens`, NEW.`output_tokens` - OLD.`output_tokens`, NEW.`cache_read_tokens` - OLD.`cache_read_tokens`, NEW.`cache_write_tokens` - OLD.`cache_write_tokens`, NEW.`charged` - OLD.`charged`, NEW.`upstream_cost` - OLD.`upstream_cost`, NEW.`upstream_cost_calls` - OLD.`upstream_cost_calls`) ON CONFLICT DO UPDATE SET `requests` = `requests` + excluded.`requests`, `input_tokens` = `input_tokens` + excluded.`input_tokens`, `output_tokens` = `output_tokens` + excluded.`output_tokens`, `cache_read_tokens` = `cache_read_tokens` + excluded.`cache_read_tokens`, `cache_write_tokens` = `cache_write_tokens` + excluded.`cache_write_tokens`, `charged` = `charged` + excluded.`charged`, `upstream_cost` = `upstream_cost` + excluded.`upstream_cost`, `upstream_cost_calls` = `upstream_cost_calls` + excluded.`upstream_cost_calls`; END;
--> statement-breakpoint
CREATE TRIGGER `webhooks_end_with_their_app` AFTER UPDATE OF `disconnected_at` ON `connections` WHEN NEW.`disconnected_at` IS NOT NULL BEGIN
  UPDATE `webhook_deliveries` SET `state` = 'failed', `error` = 'The app that made this webhook was disconnected.' WHERE `state` = 'pending' AND `webhook_id` IN (SELECT `id` FROM `webhooks` WHERE `connection_id` = NEW.`id`);
  UPDATE `webhooks` SET `status` = 'paused' WHERE `connection_id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `webhooks_begin_with_a_live_app` AFTER INSERT ON `webhooks` WHEN NEW.`status` = 'active' AND EXISTS (SELECT 1 FROM `connections` WHERE `id` = NEW.`connection_id` AND `disconnected_at` IS NOT NULL) BEGIN
  UPDATE `webhooks` SET `status` = 'paused' WHERE `id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `webhooks_resume_with_a_live_app` AFTER UPDATE OF `status`, `connection_id` ON `webhooks` WHEN NEW.`status` = 'active' AND EXISTS (SELECT 1 FROM `connections` WHERE `id` = NEW.`connection_id` AND `disconnected_at` IS NOT NULL) BEGIN
  UPDATE `webhook_deliveries` SET `state` = 'failed', `error` = 'The app that made this webhook was disconnected.' WHERE `state` = 'pending' AND `webhook_id` = NEW.`id`;
  UPDATE `webhooks` SET `status` = 'paused' WHERE `id` = NEW.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `events_follow_stuck_records` AFTER INSERT ON `stuck_records` BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 7) || '_stuck', 'ledger.alarm', NULL, NULL, NEW.`at`, json_object('stuck_record_id', NEW.`id`, 'workspace_id', NEW.`account_id`, 'request_id', NEW.`request_id`, 'reason', NEW.`reason`))
  ON CONFLICT DO NOTHING;
END;
--> statement-breakpoint
CREATE TRIGGER `closed_days_are_not_changed` BEFORE UPDATE ON `closed_days` BEGIN SELECT RAISE(ABORT, 'closed days stay as they are'); END;
--> statement-breakpoint
CREATE TRIGGER `closed_days_are_not_deleted` BEFORE DELETE ON `closed_days` BEGIN SELECT RAISE(ABORT, 'closed days stay as they are'); END;
--> statement-breakpoint
CREATE TRIGGER `closed_days_follow_each_other` BEFORE INSERT ON `closed_days` WHEN NEW.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this day is closed'); END;
--> statement-breakpoint
CREATE TRIGGER `closings_are_not_added` BEFORE INSERT ON `closings` WHEN NEW.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this day is closed'); END;
--> statement-breakpoint
CREATE TRIGGER `closings_are_not_changed` BEFORE UPDATE ON `closings` WHEN min(OLD.`day`, NEW.`day`) <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `closings_are_not_deleted` BEFORE DELETE ON `closings` WHEN OLD.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `closed_flows_are_not_added` BEFORE INSERT ON `closed_flows` WHEN NEW.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this day is closed'); END;
--> statement-breakpoint
CREATE TRIGGER `closed_flows_are_not_changed` BEFORE UPDATE ON `closed_flows` WHEN min(OLD.`day`, NEW.`day`) <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `closed_flows_are_not_deleted` BEFORE DELETE ON `closed_flows` WHEN OLD.`day` <= (SELECT max(`day`) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'closings are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `entries_are_not_deleted` BEFORE DELETE ON `entries` WHEN OLD.`kind` <> 'charge' OR OLD.`credit` <> 'house/revenue' OR NOT EXISTS (SELECT 1 FROM `archived_months` WHERE (SELECT c.`day` FROM `closed_days` c WHERE c.`day` >= OLD.`at` / 86400000 AND c.`sealed` >= OLD.`seq` ORDER BY c.`day` LIMIT 1) BETWEEN `first_day` AND `last_day`) BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_sums_follow_entries` AFTER DELETE ON `entries` BEGIN INSERT INTO `archived_sums` (`account`, `day`, `debits`, `last`) VALUES (OLD.`debit`, (SELECT c.`day` FROM `closed_days` c WHERE c.`day` >= OLD.`at` / 86400000 AND c.`sealed` >= OLD.`seq` ORDER BY c.`day` LIMIT 1), OLD.`amount`, OLD.`seq`) ON CONFLICT DO UPDATE SET `debits` = `debits` + excluded.`debits`, `last` = max(`last`, excluded.`last`); INSERT INTO `archived_flows` (`day`, `kind`, `debit`, `credit`, `amount`, `entries`) VALUES ((SELECT c.`day` FROM `closed_days` c WHERE c.`day` >= OLD.`at` / 86400000 AND c.`sealed` >= OLD.`seq` ORDER BY c.`day` LIMIT 1), OLD.`kind`, iif(OLD.`debit` LIKE 'house/%', OLD.`debit`, 'customers' || substr(OLD.`debit`, instr(OLD.`debit`, '/'))), iif(OLD.`credit` LIKE 'house/%', OLD.`credit`, 'customers' || substr(OLD.`credit`, instr(OLD.`credit`, '/'))), OLD.`amount`, 1) ON CONFLICT DO UPDATE SET `amount` = `amount` + excluded.`amount`, `entries` = `entries` + excluded.`entries`; END;
--> statement-breakpoint
CREATE TRIGGER `archived_months_are_closed` BEFORE INSERT ON `archived_months` WHEN NEW.`last_day` > (SELECT coalesce(max(`day`), -1) FROM `closed_days`) BEGIN SELECT RAISE(ABORT, 'this month is not closed'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_months_follow_each_other` BEFORE INSERT ON `archived_months` WHEN EXISTS (SELECT 1 FROM `closed_flows` f WHERE f.`kind` = 'charge' AND f.`day` < NEW.`first_day` AND NOT EXISTS (SELECT 1 FROM `archived_months` WHERE f.`day` BETWEEN `first_day` AND `last_day`)) BEGIN SELECT RAISE(ABORT, 'an earlier month has charges that are not archived'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_months_are_whole` BEFORE INSERT ON `archived_months` WHEN (NEW.`charges`, NEW.`charged`) IS NOT (SELECT coalesce(sum(`entries`), 0), coalesce(sum(`amount`), 0) FROM `closed_flows` WHERE `kind` = 'charge' AND `day` BETWEEN NEW.`first_day` AND NEW.`last_day`) BEGIN SELECT RAISE(ABORT, 'the archive has other charges than were closed'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_months_are_not_changed` BEFORE UPDATE ON `archived_months` BEGIN SELECT RAISE(ABORT, 'archived months stay as they are'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_months_are_not_deleted` BEFORE DELETE ON `archived_months` BEGIN SELECT RAISE(ABORT, 'archived months stay as they are'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_sums_only_grow` BEFORE UPDATE ON `archived_sums` WHEN NEW.`debits` < OLD.`debits` OR NEW.`last` < OLD.`last` OR (NEW.`account`, NEW.`day`) IS NOT (OLD.`account`, OLD.`day`) BEGIN SELECT RAISE(ABORT, 'sums of archived charges only grow'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_sums_are_not_deleted` BEFORE DELETE ON `archived_sums` BEGIN SELECT RAISE(ABORT, 'sums of archived charges only grow'); END;
--> statement-breakpoint
CREATE TRIGGER `archived_flows_are_not_deleted` BEFORE DELETE ON `archived_flows` BEGIN SELECT RAISE(ABORT, 'sums of archived charges only grow'); END;

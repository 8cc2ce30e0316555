CREATE TABLE `events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`account_id` text,
	`key_id` text,
	`at` integer NOT NULL,
	`data` text NOT NULL,
	`dispatched` integer DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id` ON `events` (`id`);--> statement-breakpoint
CREATE INDEX `events_account` ON `events` (`account_id`,`seq`);--> statement-breakpoint
CREATE INDEX `events_waiting` ON `events` (`seq`) WHERE "events"."dispatched" = 0;--> statement-breakpoint
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
CREATE UNIQUE INDEX `webhook_deliveries_event` ON `webhook_deliveries` (`webhook_id`,`event_id`);--> statement-breakpoint
CREATE INDEX `webhook_deliveries_due` ON `webhook_deliveries` (`webhook_id`,`next_at`) WHERE "webhook_deliveries"."state" = 'pending';--> statement-breakpoint
CREATE INDEX `webhook_deliveries_expiry` ON `webhook_deliveries` (`expires_at`) WHERE "webhook_deliveries"."state" = 'pending';--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`url` text NOT NULL,
	`events` text NOT NULL,
	`status` text NOT NULL,
	`secret` text NOT NULL,
	`previous_secret` text,
	`previous_until` integer,
	`failing_since` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `webhooks_account` ON `webhooks` (`account_id`);--> statement-breakpoint
ALTER TABLE `pools` ADD `limit_version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `pools` ADD `limit_told` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE TRIGGER `events_follow_audit` AFTER INSERT ON `audit_log` WHEN NEW.`account_id` IS NOT NULL AND NEW.`action` IN ('key.create', 'key.rotate', 'key.disable', 'key.revoke', 'limits.request', 'limits.approved', 'limits.declined', 'social.linked', 'social.revoked', 'connection.open', 'connection.end') BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 7), CASE NEW.`action` WHEN 'key.create' THEN 'key.created' WHEN 'key.rotate' THEN 'key.rotated' WHEN 'key.disable' THEN 'key.disabled' WHEN 'key.revoke' THEN 'key.revoked' WHEN 'limits.request' THEN 'limits.requested' WHEN 'limits.approved' THEN 'limits.decided' WHEN 'limits.declined' THEN 'limits.decided' WHEN 'social.linked' THEN 'social.linked' WHEN 'social.revoked' THEN 'social.revoked' WHEN 'connection.open' THEN 'app.connected' WHEN 'connection.end' THEN 'app.disconnected' END, NEW.`account_id`, NEW.`key_id`, NEW.`at`, iif(NEW.`action` LIKE 'key.%', '{}', NEW.`detail`))
  ON CONFLICT DO NOTHING;
END;--> statement-breakpoint
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
END;--> statement-breakpoint
CREATE TRIGGER `a_new_limit_tells_again` AFTER UPDATE OF `spending_limit` ON `pools` WHEN NEW.`spending_limit` IS NOT OLD.`spending_limit` BEGIN
  UPDATE `pools` SET `limit_version` = `limit_version` + 1, `limit_told` = CASE WHEN coalesce(NEW.`spending_limit`, 0) = 0 THEN 0 ELSE CASE WHEN NEW.`spent` >= NEW.`spending_limit` THEN 100 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 80 THEN 80 WHEN NEW.`spent` * 100 >= NEW.`spending_limit` * 50 THEN 50 ELSE 0 END END WHERE `id` = NEW.`id`;
END;--> statement-breakpoint
CREATE TRIGGER `a_new_budget_counts_again` AFTER UPDATE OF `budget` ON `pools` WHEN NEW.`budget` IS NOT OLD.`budget` BEGIN
  DELETE FROM `pool_periods` WHERE `pool_id` = NEW.`id`;
END;--> statement-breakpoint
CREATE TRIGGER `pool_periods_begin` AFTER INSERT ON `pool_periods` BEGIN
  DELETE FROM `pool_periods` WHERE `pool_id` = NEW.`pool_id` AND `starts_at` < NEW.`starts_at` - 8000000000;
  UPDATE `pool_periods` SET `spent` = (SELECT coalesce(sum(`u`.`charged`), 0) FROM `pools` `p` JOIN `usage_rollup` `u` ON `u`.`account_id` = `p`.`account_id` AND `u`.`slot` >= NEW.`starts_at` / 900000 WHERE `p`.`id` = NEW.`pool_id` AND `u`.`key_id` IN (SELECT `k`.`id` FROM `keys` `k` WHERE `k`.`account_id` = `p`.`account_id` AND `k`.`pool_id` = `p`.`id`))
  WHERE `pool_id` = NEW.`pool_id` AND `starts_at` = NEW.`starts_at`;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_budgets` AFTER UPDATE OF `spent` ON `pool_periods` WHEN NEW.`told` < 100 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  SELECT 'evt_' || substr(`p`.`id`, 6) || '_' || json_extract(`p`.`budget`, '$.period') || NEW.`starts_at` || '_' || `s`.`step`, 'budget.threshold', `p`.`account_id`, (SELECT `id` FROM `keys` WHERE `account_id` = `p`.`account_id` AND `pool_id` = `p`.`id` AND `revoked_at` IS NULL AND `replaced_by` IS NULL LIMIT 1), (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('percent', `s`.`step`, 'limit_micros_usd', CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER), 'spent_micros_usd', NEW.`spent`, 'period', json_extract(`p`.`budget`, '$.period'), 'period_starts_at', NEW.`starts_at`, 'app_id', NULL)
  FROM `pools` `p` JOIN (SELECT 50 AS `step` UNION ALL SELECT 80 UNION ALL SELECT 100) `s` WHERE `p`.`id` = NEW.`pool_id` AND `p`.`budget` IS NOT NULL AND `s`.`step` > NEW.`told` AND NEW.`spent` * 100 >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) * `s`.`step`
  ON CONFLICT DO NOTHING;
  UPDATE `pool_periods` SET `told` = max(`told`, coalesce((SELECT CASE WHEN NEW.`spent` >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) THEN 100 WHEN NEW.`spent` * 100 >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) * 80 THEN 80 WHEN NEW.`spent` * 100 >= CAST(round(json_extract(`p`.`budget`, '$.limitUsd') * 1000000) AS INTEGER) * 50 THEN 50 ELSE 0 END FROM `pools` `p` WHERE `p`.`id` = NEW.`pool_id` AND `p`.`budget` IS NOT NULL), 0))
  WHERE `pool_id` = NEW.`pool_id` AND `starts_at` = NEW.`starts_at`;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_low_balances` AFTER UPDATE OF `credit`, `paid` ON `accounts` WHEN OLD.`credit` + OLD.`paid` >= 1000000 AND NEW.`credit` + NEW.`paid` < 1000000 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 6) || '_low' || (SELECT max(`seq`) FROM `entries`), 'balance.low', NEW.`id`, NULL, (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('balance_micros_usd', NEW.`credit` + NEW.`paid` - NEW.`debt`, 'below_micros_usd', 1000000))
  ON CONFLICT DO NOTHING;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_empty_balances` AFTER UPDATE OF `credit`, `paid` ON `accounts` WHEN OLD.`credit` + OLD.`paid` >= 10000 AND NEW.`credit` + NEW.`paid` < 10000 BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 6) || '_empty' || (SELECT max(`seq`) FROM `entries`), 'balance.empty', NEW.`id`, NULL, (SELECT `at` FROM `entries` ORDER BY `seq` DESC LIMIT 1), json_object('balance_micros_usd', NEW.`credit` + NEW.`paid` - NEW.`debt`, 'below_micros_usd', 10000))
  ON CONFLICT DO NOTHING;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_tiers` AFTER UPDATE OF `topped_up`, `growth_approved`, `custom_limits` ON `accounts` WHEN CASE WHEN NEW.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN NEW.`growth_approved` OR NEW.`topped_up` >= 500000000 THEN 'growth' WHEN NEW.`topped_up` > 0 THEN 'starter' ELSE 'free' END <> CASE WHEN OLD.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN OLD.`growth_approved` OR OLD.`topped_up` >= 500000000 THEN 'growth' WHEN OLD.`topped_up` > 0 THEN 'starter' ELSE 'free' END BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || lower(hex(randomblob(16))), 'tier.changed', NEW.`id`, NULL, CAST(unixepoch('subsec') * 1000 AS INTEGER), json_object('tier', CASE WHEN NEW.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN NEW.`growth_approved` OR NEW.`topped_up` >= 500000000 THEN 'growth' WHEN NEW.`topped_up` > 0 THEN 'starter' ELSE 'free' END, 'previous_tier', CASE WHEN OLD.`custom_limits` IS NOT NULL THEN 'enterprise' WHEN OLD.`growth_approved` OR OLD.`topped_up` >= 500000000 THEN 'growth' WHEN OLD.`topped_up` > 0 THEN 'starter' ELSE 'free' END));
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_top_ups` AFTER INSERT ON `entries` WHEN NEW.`kind` = 'top_up' AND NEW.`account_id` IS NOT NULL BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`transaction_id`, 5) || '_topup', 'topup.completed', NEW.`account_id`, NULL, NEW.`at`, json_object('transaction_id', NEW.`transaction_id`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO UPDATE SET `data` = json_set(`data`, '$.amount_micros_usd', json_extract(`data`, '$.amount_micros_usd') + NEW.`amount`);
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_failed_top_ups` AFTER UPDATE OF `state` ON `payments` WHEN NEW.`purpose` = 'top_up' AND NEW.`account_id` IS NOT NULL AND NEW.`state` = 'released' AND OLD.`state` <> 'released' BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 5) || '_topup_failed', 'topup.failed', NEW.`account_id`, NULL, NEW.`updated_at`, json_object('payment_id', NEW.`id`, 'operation', NEW.`operation`, 'method', NEW.`method`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO NOTHING;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_refused_payments` AFTER UPDATE OF `refused_at` ON `payments` WHEN NEW.`purpose` = 'call' AND NEW.`refused_at` IS NOT NULL AND OLD.`refused_at` IS NULL BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 5) || '_payment_failed', 'payment.failed', NULL, NULL, NEW.`updated_at`, json_object('payment_id', NEW.`id`, 'operation', NEW.`operation`, 'method', NEW.`method`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO NOTHING;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_unserved_payments` AFTER UPDATE OF `state` ON `payments` WHEN NEW.`purpose` = 'call' AND NEW.`state` = 'paid_unserved' AND OLD.`state` <> 'paid_unserved' BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || substr(NEW.`id`, 5) || '_payment_unserved', 'payment.unserved', NULL, NULL, NEW.`updated_at`, json_object('payment_id', NEW.`id`, 'operation', NEW.`operation`, 'method', NEW.`method`, 'amount_micros_usd', NEW.`amount`))
  ON CONFLICT DO NOTHING;
END;--> statement-breakpoint
CREATE TRIGGER `events_follow_overruns` AFTER INSERT ON `api_closings` BEGIN
  INSERT INTO `events` (`id`, `type`, `account_id`, `key_id`, `at`, `data`)
  VALUES ('evt_' || lower(hex(randomblob(16))), 'operation.overrun', NULL, NULL, NEW.`at`, json_object('operation', NEW.`operation`, 'workspace_id', NEW.`account_id`, 'price_version', NEW.`price_version`));
END;

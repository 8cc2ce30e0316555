import type { AuditAction } from '../../../server/core/audit.ts'

/** The actions of the audit log, in words. */
const ACTIONS: Readonly<Record<AuditAction, string>> = {
  'account.open': 'Account opened',
  'account.close': 'Account closed',
  'account.settings': 'Settings changed',
  'account.email': 'Email address changed',
  'account.email_confirmed': 'Email address confirmed',
  'account.password': 'Password changed',
  'account.password_reset': 'Password reset',
  'account.reset_link': 'Link to reset the password made',
  'account.second_factor_on': 'Second factor set up',
  'account.second_factor_off': 'Second factor turned off',
  'account.recovery_codes': 'New recovery codes made',
  'account.passkey_added': 'Passkey added',
  'account.passkey_removed': 'Passkey removed',
  'account.second_factor_reset': 'Second factors removed',
  'account.sign_in_failures': 'Many failed sign-ins',
  'account.second_factor_locked': 'Second factor locked',
  'account.recovery_code_used': 'Signed in with a recovery code',
  'account.new_browser': 'Sign-in from a new browser',
  'account.sessions_end': 'Signed out everywhere',
  'account.suspend': 'Account suspended',
  'account.lift': 'Suspension lifted',
  'account.role': 'Role changed',
  'account.operator': 'Made operator',
  'account.limits': 'Limits set',
  'account.keys': 'Maximum number of keys set',
  'account.grant': 'Credit granted',
  'account.debit': 'Balance debited',
  'account.charge_refund': 'Call refunded',
  'account.card_refund': 'Card refund requested',
  'account.note': 'Note added',
  'account.export': 'Data exported',
  'session.end': 'Signed out',
  'key.create': 'Key created',
  'key.change': 'Key changed',
  'key.disable': 'Key disabled',
  'key.enable': 'Key enabled',
  'key.rotate': 'Key rotated',
  'key.revoke': 'Key revoked',
  'key.erase': 'Key erased',
  'connection.open': 'App connected',
  'connection.limit': 'Limit of an app changed',
  'connection.end': 'App disconnected',
  'webhook.create': 'Webhook created',
  'webhook.confirm': 'Webhook confirmed',
  'webhook.change': 'Webhook changed',
  'webhook.rotate': 'Webhook secret rotated',
  'webhook.delete': 'Webhook deleted',
  'limits.request': 'Higher limits requested',
  'limits.approved': 'Higher limits approved',
  'limits.declined': 'Higher limits declined',
  'social.link.start': 'Link to a social account started',
  'social.linked': 'Social account linked',
  'social.unlink': 'Social account unlinked',
  'social.revoked': 'Social account withdrew access',
  'price.set': 'Price set',
  'model.put': 'Model added or changed',
  'model.remove': 'Model removed',
  'api.create': 'API added',
  'api.import': 'API imported',
  'api.apply': 'Catalog file applied',
  'api.change': 'API changed',
  'api.remove': 'API removed',
  'api.lift': 'API opened again',
  'api.try': 'Write of an API tried',
  'books.export': 'Books exported',
  'books.reconcile': 'Missing payments booked',
  'books.after_restore': 'Checked after a restore',
  'stuck.retry': 'Stuck record booked',
  'stuck.discard': 'Stuck record discarded',
  'backup.start': 'Backup started',
  'backup.archive': 'Month removed into an archive',
  'data.move': 'Data moved to this database',
  'data.reopen': 'Database opened again after a move',
  'notices.mail': 'Mail about notices changed',
  'notices.unsubscribed': 'Unsubscribed from mail',
}

const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(ACTIONS))

/** An action in words; one of an earlier version by its identifier, such as `Key: seal` for `key.seal`. */
export function auditAction(action: string): string {
  return (
    NAMES.get(action) ??
    action
      .replace('.', ': ')
      .replaceAll(/[_.]/g, ' ')
      .replace(/^./, (first) => first.toUpperCase())
  )
}

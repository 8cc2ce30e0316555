import type { AuditEntry } from '../../core/audit'

/** How the settings of a key form are named on the wire. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  spendingLimit: 'spending_limit',
  allowedIps: 'allowed_ips',
  expiresAt: 'expires_at',
  allowedEndpoints: 'allowed_endpoints',
  allowedModels: 'allowed_models',
  rpmLimit: 'rpm_limit',
  tpmLimit: 'tpm_limit',
  stopsAt: 'stops_at',
}

/** One change of a key as its owner sees it: who, when, from where, and which settings it was about. */
export function historyEntry({ id, at, actor, action, detail }: AuditEntry) {
  const successor = detail['successor']
  return {
    id,
    at: new Date(at).toISOString(),
    action: action.replace(/^key\./, ''),
    by: actor.kind,
    ip: actor.address,
    settings:
      action === 'key.create' || action === 'key.change'
        ? Object.keys(detail).map((name) => WIRE_NAMES[name] ?? name)
        : [],
    successor: typeof successor === 'string' ? successor : null,
  }
}

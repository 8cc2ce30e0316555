import type { AuditFilter } from '../../core/audit'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import type { AccountId, KeyId } from '../../core/ids'
import { INSTANT, instantOf } from '../middleware/input/instant-parameter'
import { PAGE_QUERY } from '../middleware/input/list-query'
import { ACTORS } from './record'

export const AUDIT_FILTER = {
  action: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 64,
    description: 'Only this action (`key.create`), or all that begin with a word (`key`).',
    example: 'key',
  },
  actor: { in: 'query', kind: 'enum', values: ACTORS, description: 'Only what these did.' },
  key: { in: 'query', kind: 'text', min: 1, max: 64, description: 'Only changes of this key.' },
  from: { ...INSTANT, description: 'Only changes at or after this time.', example: '2026-11-01T00:00:00Z' },
  to: { ...INSTANT, description: 'Only changes before this time.', example: '2030-01-01T00:00:00Z' },
} as const satisfies ParameterTable

export const AUDIT_QUERY = { ...AUDIT_FILTER, ...PAGE_QUERY } as const satisfies ParameterTable

/** For operators, who may read the whole gateway or one account. */
export const OPERATOR_AUDIT_FILTER = {
  ...AUDIT_FILTER,
  account: { in: 'query', kind: 'text', min: 1, max: 64, description: 'Only changes that concern this account.' },
} as const satisfies ParameterTable

export const OPERATOR_AUDIT_QUERY = { ...OPERATOR_AUDIT_FILTER, ...PAGE_QUERY } as const satisfies ParameterTable

export function auditFilterOf(accountId: AccountId | null, query: Parameters<typeof AUDIT_FILTER>): AuditFilter {
  return {
    accountId,
    keyId: (query.key ?? null) as KeyId | null, // any text: an id that does not exist matches nothing
    actorKind: query.actor ?? null,
    action: query.action ?? null,
    from: instantOf(query.from),
    to: instantOf(query.to),
  }
}

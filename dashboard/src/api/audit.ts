import { infiniteQueryOptions } from '@tanstack/react-query'
import type { AuditRecord } from '../../../server/http/audit/record.ts'
import { api, defined, unwrap } from './client/client.ts'

/** As an owner or an operator sees it. */
export type AuditEntry = AuditRecord

/** Which entries. `account` is for operators. */
export interface AuditFilter {
  readonly action?: string | undefined
  readonly actor?: AuditEntry['actor'] | undefined
  readonly account?: string | undefined
}

/** Whose log: an owner's own, or that of the gateway. */
export type AuditScope = 'own' | 'gateway'

export const auditQuery = (scope: AuditScope, filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', scope, filter],
    queryFn: ({ pageParam }): Promise<{ entries: readonly AuditEntry[]; next_cursor: string | null }> => {
      const query = defined({ ...filter, cursor: pageParam })
      return scope === 'own' ? unwrap(api.audit.get({ query })) : unwrap(api.operator.audit.get({ query }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: (before) => before,
  })

/** The URL of a file with everything that matches the filter. */
export function auditFileUrl(scope: AuditScope, type: 'csv' | 'jsonl', filter: AuditFilter): string {
  return `/api/${scope === 'own' ? '' : 'operator/'}audit.${type}?${new URLSearchParams(defined({ ...filter }))}`
}

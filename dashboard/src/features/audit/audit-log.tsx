import { useInfiniteQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { type AuditEntry, type AuditFilter, type AuditScope, auditFileUrl, auditQuery } from '../../api/audit.ts'
import { listState } from '../../api/client/list-state.ts'
import { AUDIT_TEXT as TEXT } from '../../messages/audit.ts'
import { auditAction } from '../../messages/audit-actions.ts'
import { Actor } from '../../ui/actor.tsx'
import { useDebounced } from '../../ui/browser/use-debounced.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { Select } from '../../ui/field.tsx'
import { TimeAgo } from '../../ui/format/time.tsx'
import { BareCard } from '../../ui/layout/card.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { SearchBox } from '../../ui/layout/search-box.tsx'
import { type Column, Table } from '../../ui/layout/table.tsx'

/** The page of an audit log, with its filters and files. */
export function AuditLog({ scope, title, lead }: { scope: AuditScope; title: string; lead: string }) {
  const [filter, setFilter] = useState<AuditFilter>({})
  const account = useDebounced(filter.account ?? '') || undefined
  const log = useInfiniteQuery(auditQuery(scope, { ...filter, account }))
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const files = (['csv', 'jsonl'] as const).map((type) => (
    <a key={type} href={auditFileUrl(scope, type, filter)} download className={buttonClass()}>
      <Download size={16} aria-hidden />
      {type === 'csv' ? TEXT.csv : TEXT.lines}
    </a>
  ))
  return (
    <Page title={title} lead={lead} actions={files}>
      <BareCard>
        <Table
          caption={TEXT.table}
          columns={columnsOf(scope)}
          state={{ rows: log.data?.pages.flatMap(({ entries }) => entries), ...listState(log) }}
          rowKey={({ id }) => id}
          tools={<Filters scope={scope} filter={filter} onFilter={setFilter} />}
          empty={
            <Empty action={isFiltered && <Button onClick={() => setFilter({})}>{TEXT.clear}</Button>}>
              {TEXT.none}
            </Empty>
          }
        />
      </BareCard>
    </Page>
  )
}

function Filters({ scope, filter, onFilter }: FiltersProps) {
  const actors = Object.entries(TEXT.actors) as [AuditEntry['actor'], string][]
  return (
    <>
      {scope === 'gateway' && (
        <SearchBox
          label={TEXT.accountFilter}
          hint={TEXT.accountFilter}
          maxLength={64}
          value={filter.account ?? ''}
          onSearch={(text) => onFilter({ ...filter, account: text || undefined })}
        />
      )}
      <Select
        label={TEXT.actionFilter}
        options={[
          { value: '', text: TEXT.allActions },
          ...Object.entries(TEXT.actions)
            .filter(([family]) => scope === 'gateway' || !TEXT.onlyOperators.includes(family))
            .map(([value, text]) => ({ value, text })),
        ]}
        value={filter.action ?? ''}
        onChange={({ target }) => onFilter({ ...filter, action: target.value || undefined })}
      />
      <Select
        label={TEXT.actorFilter}
        options={[{ value: '', text: TEXT.allActors }, ...actors.map(([value, text]) => ({ value, text }))]}
        value={filter.actor ?? ''}
        onChange={({ target }) => onFilter({ ...filter, actor: actors.find(([kind]) => kind === target.value)?.[0] })}
      />
    </>
  )
}

type FiltersProps = { scope: AuditScope; filter: AuditFilter; onFilter: (filter: AuditFilter) => void }

function columnsOf(scope: AuditScope): readonly Column<AuditEntry>[] {
  const { columns } = TEXT
  return [
    { id: 'at', card: 'aside', head: columns.at, cell: ({ at }) => <TimeAgo at={at} /> },
    { id: 'action', card: 'title', head: columns.action, cell: ({ action }) => auditAction(action) },
    {
      id: 'actor',
      head: columns.actor,
      cell: (entry) => <Actor kind={entry.actor} id={entry.actor_id} email={entry.actor_email} />,
    },
    ...(scope === 'own'
      ? []
      : [
          {
            id: 'account',
            head: columns.account,
            cell: ({ account_id: id }: AuditEntry) =>
              id === null ? TEXT.wholeGateway : <span className="code wrap-anywhere">{id}</span>,
          },
        ]),
    { id: 'change', card: 'below', head: columns.change, cell: (entry) => <Change entry={entry} /> },
    { id: 'ip', head: columns.ip, cell: ({ ip }) => <span className="code wrap-anywhere">{ip ?? '-'}</span> },
  ]
}

/** The values before, where there were any, and after. */
function Change({ entry: { before, after } }: { entry: AuditEntry }) {
  const isEmpty = Object.keys(after).length === 0
  return (
    <span className="grid max-w-[32rem] gap-1">
      {before && <Values name={TEXT.before}>{jsonOf(before)}</Values>}
      {!isEmpty && <Values name={before ? TEXT.after : ''}>{jsonOf(after)}</Values>}
      {!before && isEmpty && '-'}
    </span>
  )
}

function Values({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="small">
      {name && <span className="text-muted">{name} </span>}
      <span className="code wrap-anywhere">{children}</span>
    </span>
  )
}

/** `name: value` pairs; JSON within. */
function jsonOf(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

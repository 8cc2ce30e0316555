import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ApiKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { TimeAgo } from '../../ui/format/time.tsx'
import { type Column, type Sorting, Table, type TableState } from '../../ui/layout/table.tsx'
import { MoreMenu } from '../../ui/menus/more-menu.tsx'
import { type KeyActions, menuEntries } from './key-actions.ts'
import { KeyRemaining, KeySpend, KeyStatusBadge } from './key-facts.tsx'
import { KeyRestrictions } from './key-restrictions.tsx'
import { KeyTags } from './key-tags.tsx'
import { useTeam } from './use-team.ts'

/** So that a key takes one line; its page has all of them. */
const SHOWN_TAGS = 1

/** The keys with their actions; cards on a phone. */
export function KeysTable({ state, actions, empty, sorting, onSort, names, selection }: KeysTableProps) {
  const { isShared } = useTeam()
  return (
    <Table
      caption={TEXT.table}
      columns={columnsOf(actions, names, selection, isShared)}
      state={state}
      rowKey={({ id }) => id}
      rowClass={({ status }) => (status === 'disabled' ? 'text-muted' : undefined)}
      empty={empty}
      sorting={sorting}
      onSort={onSort}
    />
  )
}

type KeysTableProps = {
  state: TableState<ApiKey>
  actions: KeyActions
  empty: ReactNode
  sorting: Sorting
  onSort: (by: string) => void
  /** Names by id, including keys that are not on this page. */
  names: KeyNames
  selection: Selection
}

type KeyNames = ReadonlyMap<string, { readonly name: string; readonly last4: string | null }>

/** Which keys are selected, by id. */
export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly toggle: (id: string) => void
}

const HOLDER: Column<ApiKey> = {
  id: 'holder',
  head: TEXT.columns.holder,
  cell: (key) => (
    <span className="block max-w-40 truncate max-md:max-w-none">{key.made_by?.name ?? TEXT.ofWorkspace}</span>
  ),
}

function columnsOf(
  actions: KeyActions,
  names: KeyNames,
  selection: Selection,
  isShared: boolean,
): readonly Column<ApiKey>[] {
  const { columns } = TEXT
  return [
    {
      id: 'name',
      head: columns.name,
      name: true,
      sortable: true,
      cell: (key) => <KeyName apiKey={key} names={names} selection={selection} />,
    },
    {
      id: 'status',
      card: 'aside',
      head: columns.status,
      sortable: true,
      cell: (key) => <KeyStatusBadge apiKey={key} />,
    },
    { id: 'spent', head: columns.spent, sortable: true, cell: (key) => <KeySpend apiKey={key} /> },
    { id: 'left', head: columns.left, cell: (key) => <KeyRemaining apiKey={key} /> },
    {
      id: 'restrictions',
      card: 'none',
      head: columns.restrictions,
      cell: (key) => <KeyRestrictions apiKey={key} />,
    },
    ...(isShared ? [HOLDER] : []),
    { id: 'last_used', head: columns.used, sortable: true, cell: (key) => <TimeAgo at={key.last_used_at} /> },
    {
      id: 'menu',
      head: columns.menu,
      silent: true,
      numeric: true,
      cell: (key) => <RowActions apiKey={key} actions={actions} />,
    },
  ]
}

function KeyName({ apiKey, names, selection }: KeyNameProps) {
  const replaced = apiKey.replaces === null ? undefined : names.get(apiKey.replaces)
  // Both may have one name.
  const replaces = replaced && TEXT.replaces(replaced.name, `…${replaced.last4 ?? ''}`)
  return (
    <div className="flex min-w-0 items-center gap-3">
      <input
        type="checkbox"
        aria-label={TEXT.select(apiKey.name)}
        className="size-4 shrink-0 accent-accent"
        checked={selection.ids.has(apiKey.id)}
        disabled={apiKey.status === 'revoked'}
        onChange={() => selection.toggle(apiKey.id)}
      />
      <Link
        to="/keys/$id"
        params={{ id: apiKey.id }}
        title={apiKey.name}
        className="min-w-16 truncate font-medium text-text hover:underline"
      >
        {apiKey.name}
      </Link>
      <span className="code shrink-0 whitespace-nowrap text-muted" title={replaces}>
        …{apiKey.last4}
        {replaces && <span className="sr-only"> {replaces}</span>}
      </span>
      {apiKey.tags.length > 0 && <KeyTags tags={apiKey.tags} most={SHOWN_TAGS} />}
    </div>
  )
}

type KeyNameProps = { apiKey: ApiKey; names: KeyNames; selection: Selection }

function RowActions({ apiKey, actions }: { apiKey: ApiKey; actions: KeyActions }) {
  return <MoreMenu entries={menuEntries(apiKey, actions)} label={UI_TEXT.actionsOf(apiKey.name)} />
}

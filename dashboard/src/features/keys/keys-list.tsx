import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { clsx } from 'clsx'
import { useState } from 'react'
import { listState } from '../../api/client/list-state.ts'
import { type ApiKey, type KeyStatus, type KeysFilter as KeysView, keyNamesQuery, keysQuery } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { Button } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Empty } from '../../ui/feedback/states.tsx'
import { Select } from '../../ui/field.tsx'
import { BareCard } from '../../ui/layout/card.tsx'
import { ListTools, SearchBox } from '../../ui/layout/search-box.tsx'
import type { KeyActions } from './key-actions.ts'
import { KeysTable } from './keys-table.tsx'

const SelectedKeys = lazyPart(() => import('./selected-keys.tsx').then(({ SelectedKeys }) => SelectedKeys))

/** All keys, with search, filters, sorting and actions. */
export function KeysList({ view, onView, actions }: KeysListProps) {
  const list = useInfiniteQuery(keysQuery(view))
  const names = new Map(useQuery(keyNamesQuery).data?.names.map((key) => [key.id, key]))
  const rows = list.data?.pages.flatMap(({ keys }) => keys)
  const counts = list.data?.pages.at(-1)?.counts
  const sort = view.sort ?? 'created'
  const down = (view.order ?? 'desc') === 'desc'
  const filtered = view.q !== undefined || view.status !== undefined || view.tag !== undefined
  const tags = list.data?.pages.at(-1)?.tags ?? []
  const { selection, clear, all } = useSelection(rows ?? [])
  const [isReporting, setReporting] = useState(false)
  return (
    <BareCard>
      <ListTools>
        <SearchBox
          label={TEXT.search}
          hint={TEXT.search}
          value={view.q ?? ''}
          onSearch={(q) => onView({ ...view, q: q === '' ? undefined : q })}
        />
        <TagFilter tags={tags} chosen={view.tag} onChoose={(tag) => onView({ ...view, tag })} />
        <Chips counts={counts} chosen={view.status} onChoose={(status) => onView({ ...view, status })} />
      </ListTools>
      {(selection.ids.size > 0 || isReporting) && (
        <SelectedKeys
          ids={selection.ids}
          onAll={all}
          onDisable={() => setReporting(true)}
          onClear={() => {
            clear()
            setReporting(false)
          }}
        />
      )}
      <KeysTable
        state={{
          rows,
          ...listState(list),
        }}
        actions={actions}
        names={names}
        selection={selection}
        sorting={{ by: sort, down }}
        onSort={(by) => onView({ ...view, ...sortedBy(by, sort, down) })}
        empty={
          <NoKeys filtered={filtered} onClear={() => onView({})} onCreate={() => actions.open({ kind: 'create' })} />
        }
      />
    </BareCard>
  )
}

type KeysListProps = { view: KeysView; onView: (view: KeysView) => void; actions: KeyActions }

/** Selecting the sorted column again reverses the order; another column starts with its default order. */
function sortedBy(by: string, sort: string, down: boolean): Pick<KeysView, 'sort' | 'order'> {
  const columns = ['name', 'status', 'spent', 'last_used'] as const
  const column = columns.find((name) => name === by)
  if (by === sort) return { sort: column, order: down ? 'asc' : 'desc' }
  return { sort: column, order: by === 'name' || by === 'status' ? 'asc' : 'desc' }
}

/** Narrows the list to one tag. Absent while no key has one. */
function TagFilter({ tags, chosen, onChoose }: TagFilterProps) {
  const names = [...new Set([...tags.map(({ name }) => name), ...(chosen === undefined ? [] : [chosen])])]
  if (names.length === 0) return null
  const count = (name: string) => tags.find((tag) => tag.name === name)?.keys ?? 0
  return (
    <Select
      label={TEXT.tagFilter}
      options={[
        { value: '', text: TEXT.anyTag },
        ...names.map((name) => ({ value: name, text: TEXT.tagWithCount(name, count(name)) })),
      ]}
      value={chosen ?? ''}
      onChange={(event) => onChoose(event.target.value || undefined)}
    />
  )
}

type TagFilterProps = {
  tags: readonly { readonly name: string; readonly keys: number }[]
  chosen: string | undefined
  onChoose: (tag: string | undefined) => void
}

/** The selected rows. Rows that leave the list are no longer selected. */
function useSelection(rows: readonly ApiKey[]) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const ids = new Set(rows.filter(({ id, status }) => chosen.has(id) && status !== 'revoked').map(({ id }) => id))
  const toggle = (id: string) => setChosen(new Set(ids.has(id) ? [...ids].filter((one) => one !== id) : [...ids, id]))
  const all = () => setChosen(new Set(rows.filter(({ status }) => status !== 'revoked').map(({ id }) => id)))
  return { selection: { ids, toggle }, clear: () => setChosen(new Set()), all }
}

const CHIPS: readonly KeyStatus[] = ['active', 'exhausted', 'disabled', 'expired', 'revoked']

function Chips({ counts, chosen, onChoose }: ChipsProps) {
  const all = counts && counts.active + counts.exhausted + counts.disabled + counts.expired
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="sr-only">{TEXT.filter}</legend>
      <Chip text={TEXT.all} count={all} pressed={chosen === undefined} onPress={() => onChoose(undefined)} />
      {CHIPS.filter((status) => status !== 'revoked' || (counts?.revoked ?? 0) > 0 || chosen === 'revoked').map(
        (status) => (
          <Chip
            key={status}
            text={TEXT.statuses[status]}
            count={counts?.[status]}
            pressed={chosen === status}
            onPress={() => onChoose(status)}
          />
        ),
      )}
    </fieldset>
  )
}

type ChipsProps = {
  counts: Readonly<Record<KeyStatus, number>> | undefined
  chosen: KeyStatus | undefined
  onChoose: (status: KeyStatus | undefined) => void
}

function Chip({ text, count, pressed, onPress }: ChipProps) {
  return (
    <button
      type="button"
      aria-pressed={pressed}
      onClick={onPress}
      className={clsx(
        'control rounded-full border px-3',
        pressed ? 'border-accent bg-accent-soft text-accent' : 'border-line text-muted hover:bg-sunken',
      )}
    >
      {text}
      {count !== undefined && <span className="ml-2">{count}</span>}
    </button>
  )
}

type ChipProps = { text: string; count: number | undefined; pressed: boolean; onPress: () => void }

function NoKeys({ filtered, onClear, onCreate }: { filtered: boolean; onClear: () => void; onCreate: () => void }) {
  if (filtered) return <Empty action={<Button onClick={onClear}>{TEXT.clear}</Button>}>{TEXT.noneFound}</Empty>
  return (
    <Empty
      action={
        <Button tone="primary" onClick={onCreate}>
          {TEXT.create}
        </Button>
      }
    >
      {TEXT.none}
    </Empty>
  )
}

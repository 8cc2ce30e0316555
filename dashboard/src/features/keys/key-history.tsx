import { useInfiniteQuery } from '@tanstack/react-query'
import { type KeyChange, keyHistoryQuery } from '../../api/keys.ts'
import { listState } from '../../api/list-state.ts'
import { Card } from '../../ui/card.tsx'
import { Empty } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { KEY_WORDS as WORDS } from '../../words/keys.ts'

const { historyColumns: HEADS } = WORDS

const COLUMNS: readonly Column<KeyChange>[] = [
  { id: 'what', head: HEADS.what, cell: (change) => <span className="font-medium">{whatHappened(change)}</span> },
  { id: 'at', head: HEADS.at, cell: ({ at }) => <TimeAgo at={at} /> },
  { id: 'by', head: HEADS.by, cell: ({ by }) => WORDS.actors[by] },
  { id: 'ip', head: HEADS.ip, cell: ({ ip }) => <span className="code">{ip ?? '-'}</span> },
]

/** What was done to a key: when, by whom, from where. */
export function KeyHistory({ id }: { id: string }) {
  const history = useInfiniteQuery(keyHistoryQuery(id))
  return (
    <Card title={WORDS.history} flush>
      <Table
        caption={WORDS.historyTable}
        columns={COLUMNS}
        rowKey={(change) => change.id}
        state={{
          rows: history.data?.pages.flatMap((page) => page.history),
          ...listState(history),
        }}
        empty={<Empty>{WORDS.noHistory}</Empty>}
      />
    </Card>
  )
}

function whatHappened({ action, settings }: KeyChange): string {
  if (action === 'change') return WORDS.changedWhat(settings.map((name) => WORDS.settingNames[name] ?? name).join(', '))
  return WORDS.actions[action] ?? action
}

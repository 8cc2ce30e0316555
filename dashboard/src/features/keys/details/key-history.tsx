import { useInfiniteQuery } from '@tanstack/react-query'
import { listState } from '../../../api/client/list-state.ts'
import { type KeyChange, keyHistoryQuery } from '../../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { Empty } from '../../../ui/feedback/states.tsx'
import { TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { type Column, Table } from '../../../ui/layout/table.tsx'
import { settingName } from '../typed-settings.ts'

const { historyColumns: HEADS } = TEXT

const COLUMNS: readonly Column<KeyChange>[] = [
  { id: 'what', head: HEADS.what, cell: (change) => <span className="font-medium">{whatHappened(change)}</span> },
  { id: 'at', head: HEADS.at, cell: ({ at }) => <TimeAgo at={at} /> },
  { id: 'by', head: HEADS.by, cell: ({ by }) => TEXT.actors[by] },
  { id: 'ip', head: HEADS.ip, cell: ({ ip }) => <span className="code">{ip ?? '-'}</span> },
]

/** The changes to a key: when, by whom, and from where. */
export function KeyHistory({ id }: { id: string }) {
  const history = useInfiniteQuery(keyHistoryQuery(id))
  return (
    <Card title={TEXT.history} flush>
      <Table
        caption={TEXT.historyTable}
        columns={COLUMNS}
        rowKey={(change) => change.id}
        state={{
          rows: history.data?.pages.flatMap((page) => page.history),
          ...listState(history),
        }}
        empty={<Empty>{TEXT.noHistory}</Empty>}
      />
    </Card>
  )
}

function whatHappened({ action, settings }: KeyChange): string {
  if (action === 'change') return TEXT.changedWhat(settings.map(settingName).join(', '))
  return TEXT.actions[action] ?? action
}

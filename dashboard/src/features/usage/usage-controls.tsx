import { useQuery } from '@tanstack/react-query'
import { keyNamesQuery } from '../../api/keys.ts'
import { type UsageFilter, useKeyLabels } from '../../api/usage.ts'
import { GROUPS, MEASURES, RANGES, type UsageView } from '../../api/usage-view.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Select } from '../../ui/field.tsx'
import { operationWords } from '../../words/requests.ts'
import { USAGE_WORDS as WORDS } from '../../words/usage.ts'

const OPERATIONS = ['image-search', 'llm-context']
const STATUSES = [200, 400, 401, 402, 403, 429, 500, 502, 503]

/** Which span, which calls. All of it stands in the address. */
export function UsageControls({ view, onView }: UsageControlsProps) {
  const filtered = view.key !== undefined || view.operation !== undefined || view.status !== undefined
  return (
    <div className="flex flex-wrap items-end gap-2">
      <Select
        label={WORDS.range}
        options={RANGES.map((value) => ({ value, text: WORDS.ranges[value] }))}
        value={view.range}
        onChange={(event) => onView({ range: RANGES.find((name) => name === event.target.value) ?? '7d' })}
      />
      {view.range === 'custom' && <Dates view={view} onView={onView} />}
      <Filters view={view} onView={onView} />
      {filtered && (
        <Button tone="quiet" onClick={() => onView({ key: undefined, operation: undefined, status: undefined })}>
          {WORDS.clear}
        </Button>
      )}
    </div>
  )
}

type UsageControlsProps = { view: UsageView; onView: (part: Partial<UsageView>) => void }

function Dates({ view, onView }: UsageControlsProps) {
  return (
    <>
      <Field label={WORDS.from}>
        {(control) => (
          <input
            {...control}
            type="date"
            value={view.from ?? ''}
            onChange={(event) => onView({ from: event.target.value })}
          />
        )}
      </Field>
      <Field label={WORDS.to}>
        {(control) => (
          <input
            {...control}
            type="date"
            value={view.to ?? ''}
            onChange={(event) => onView({ to: event.target.value })}
          />
        )}
      </Field>
    </>
  )
}

function Filters({ view, onView }: UsageControlsProps) {
  const keys = useQuery(keyNamesQuery).data?.names ?? []
  // The one that is chosen is there before its name is.
  const ids = [...new Set([...keys.map(({ id }) => String(id)), ...(view.key === undefined ? [] : [view.key])])]
  const label = useKeyLabels()
  const operations = [...new Set([...OPERATIONS, ...(view.operation === undefined ? [] : [view.operation])])]
  const statuses = [...new Set([...STATUSES, ...(view.status === undefined ? [] : [view.status])])]
  const chosen = (filter: UsageFilter) => onView(filter)
  return (
    <>
      <Select
        label={WORDS.keyFilter}
        options={[{ value: '', text: WORDS.allKeys }, ...ids.map((id) => ({ value: id, text: label(id) }))]}
        value={view.key ?? ''}
        onChange={(event) => chosen({ key: event.target.value || undefined })}
      />
      <Select
        label={WORDS.operationFilter}
        options={[
          { value: '', text: WORDS.allOperations },
          ...operations.map((value) => ({ value, text: operationWords(value) })),
        ]}
        value={view.operation ?? ''}
        onChange={(event) => chosen({ operation: event.target.value || undefined })}
      />
      <Select
        label={WORDS.statusFilter}
        options={[
          { value: '', text: WORDS.allStatuses },
          ...statuses.map((value) => ({ value: String(value), text: String(value) })),
        ]}
        value={view.status === undefined ? '' : String(view.status)}
        onChange={(event) => chosen({ status: event.target.value === '' ? undefined : Number(event.target.value) })}
      />
    </>
  )
}

/** What the chart shows, and by what it is parted. */
export function ChartControls({ view, onView }: UsageControlsProps) {
  return (
    <div className="flex flex-wrap gap-2">
      <Select
        label={WORDS.measure}
        options={MEASURES.map((value) => ({ value, text: WORDS.measures[value] }))}
        value={view.measure}
        onChange={(event) => onView({ measure: MEASURES.find((name) => name === event.target.value) ?? 'spend' })}
      />
      <Select
        label={WORDS.group}
        options={GROUPS.map((value) => ({ value, text: `${WORDS.group} ${WORDS.groups[value].toLowerCase()}` }))}
        value={view.group}
        onChange={(event) => onView({ group: GROUPS.find((name) => name === event.target.value) ?? 'key' })}
      />
    </div>
  )
}

import { useQuery } from '@tanstack/react-query'
import { keyNamesQuery, keyTagsQuery } from '../../api/keys.ts'
import { NO_MODEL, type UsageFilter, usageParams, usageQuery, useKeyLabels } from '../../api/usage.ts'
import { stepsOf, type UsageSpan } from '../../api/views/usage-range.ts'
import { GROUPS, isFiltered, MEASURES, NO_FILTER, RANGES, type UsageView } from '../../api/views/usage-view.ts'
import { operationLabel } from '../../messages/requests.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { Button } from '../../ui/button.tsx'
import { Choice, Field, Select } from '../../ui/field.tsx'
import { localDay } from '../../ui/format/time.tsx'

/** The period and the filters, which are stored in the URL. */
export function UsageControls({ view, span, onView }: UsageControlsProps & { span: UsageSpan | null }) {
  return (
    <div className="flex flex-wrap items-end gap-2 [&>select]:max-w-56">
      <Select
        label={TEXT.range}
        options={RANGES.map((value) => ({ value, text: TEXT.ranges[value] }))}
        value={view.range}
        onChange={(event) => onView(withRange(view, span, RANGES.find((name) => name === event.target.value) ?? '7d'))}
      />
      {view.range === 'custom' && <Dates view={view} onView={onView} />}
      <Filters view={view} span={span} onView={onView} />
      {isFiltered(view) && (
        <Button tone="quiet" onClick={() => onView(NO_FILTER)}>
          {TEXT.clear}
        </Button>
      )}
    </div>
  )
}

/** Own dates begin with those of the period that was shown, so that the page keeps its figures. */
function withRange(view: UsageView, span: UsageSpan | null, range: UsageView['range']): Partial<UsageView> {
  if (range !== 'custom' || span === null || (view.from !== undefined && view.to !== undefined)) return { range }
  return { range, from: localDay(span.start * 1000), to: localDay((span.end - 1) * 1000) }
}

type UsageControlsProps = { view: UsageView; onView: (part: Partial<UsageView>) => void }

function Dates({ view, onView }: UsageControlsProps) {
  return (
    <>
      <Field label={TEXT.from}>
        {(control) => (
          <input
            {...control}
            type="date"
            value={view.from ?? ''}
            onChange={(event) => onView({ from: event.target.value })}
          />
        )}
      </Field>
      <Field label={TEXT.to}>
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

function Filters({ view, span, onView }: UsageControlsProps & { span: UsageSpan | null }) {
  const keys = useQuery(keyNamesQuery).data?.names ?? []
  const tags = useQuery(keyTagsQuery).data ?? []
  const tagNames = [...new Set([...tags.map(({ name }) => name), ...(view.tag === undefined ? [] : [view.tag])])]
  // Includes the selected value even before its name is loaded.
  const ids = [...new Set([...keys.map(({ id }) => String(id)), ...(view.key === undefined ? [] : [view.key])])]
  const label = useKeyLabels()
  const operations = useSeen(span, 'operation', view.operation)
  const statuses = useSeen(span, 'status', view.status === undefined ? undefined : String(view.status))
  const models = useSeen(span, 'model', view.model)
  const chosen = (filter: UsageFilter) => onView(filter)
  return (
    <>
      <Select
        label={TEXT.keyFilter}
        options={[{ value: '', text: TEXT.allKeys }, ...ids.map((id) => ({ value: id, text: label(id) }))]}
        value={view.key ?? ''}
        onChange={(event) => chosen({ key: event.target.value || undefined })}
      />
      {tagNames.length > 0 && (
        <Select
          label={TEXT.tagFilter}
          options={[{ value: '', text: TEXT.allTags }, ...tagNames.map((value) => ({ value, text: value }))]}
          value={view.tag ?? ''}
          onChange={(event) => chosen({ tag: event.target.value || undefined })}
        />
      )}
      <Select
        label={TEXT.operationFilter}
        options={[
          { value: '', text: TEXT.allOperations },
          ...operations.map((value) => ({ value, text: operationLabel(value) })),
        ]}
        value={view.operation ?? ''}
        onChange={(event) => chosen({ operation: event.target.value || undefined })}
      />
      {models.length > 0 && (
        <Select
          label={TEXT.modelFilter}
          options={[{ value: '', text: TEXT.allModels }, ...models.map((value) => ({ value, text: value }))]}
          value={view.model ?? ''}
          onChange={(event) => chosen({ model: event.target.value || undefined })}
        />
      )}
      <Select
        label={TEXT.statusFilter}
        options={[{ value: '', text: TEXT.allStatuses }, ...statuses.map((value) => ({ value, text: value }))]}
        value={view.status === undefined ? '' : String(view.status)}
        onChange={(event) => chosen({ status: event.target.value === '' ? undefined : Number(event.target.value) })}
      />
    </>
  )
}

/** The filter options: the values that occur in the period, and the selected one. */
function useSeen(
  span: UsageSpan | null,
  by: 'operation' | 'status' | 'model',
  chosen: string | undefined,
): readonly string[] {
  const params = { ...usageParams(span ?? NO_SPAN), group_by: by }
  const groups = useQuery({ ...usageQuery(params), enabled: span !== null }).data?.groups ?? []
  const names = groups.map(({ name }) => String(name)).filter((name) => name !== NO_MODEL)
  return [...new Set([...names, ...(chosen === undefined ? [] : [chosen])])].sort()
}

const NO_SPAN: UsageSpan = { start: 0, end: 1, width: '1h' }

/** The chart's figure and its grouping. */
export function ChartControls({ view, span, onView }: UsageControlsProps & { span: UsageSpan }) {
  const steps = stepsOf(span)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Choice
        type="checkbox"
        label={TEXT.compare}
        checked={view.compare === true}
        onChange={({ target }) => onView({ compare: target.checked ? true : undefined })}
      />
      {steps.length > 1 && (
        <Select
          label={TEXT.step}
          options={steps.map((value) => ({ value, text: TEXT.steps[value] }))}
          value={span.width}
          onChange={(event) => onView({ step: steps.find((width) => width === event.target.value) })}
        />
      )}
      <Select
        label={TEXT.measure}
        options={MEASURES.map((value) => ({ value, text: TEXT.measures[value] }))}
        value={view.measure}
        onChange={(event) => onView({ measure: MEASURES.find((name) => name === event.target.value) ?? 'spend' })}
      />
      <Select
        label={TEXT.group}
        options={GROUPS.map((value) => ({ value, text: `${TEXT.group} ${TEXT.groups[value].toLowerCase()}` }))}
        value={view.group}
        onChange={(event) => onView({ group: GROUPS.find((name) => name === event.target.value) ?? 'key' })}
      />
    </div>
  )
}

import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { csvUrl, rfc3339 } from '../api/requests.ts'
import { isFiltered, NO_FILTER, type UsageView, viewFilter, viewSpan } from '../api/views/usage-view.ts'
import { UsageControls } from '../features/usage/usage-controls.tsx'
import { UsageFigures } from '../features/usage/usage-figures.tsx'
import { UsageOverTime } from '../features/usage/usage-over-time.tsx'
import { SavedViews } from '../features/views/saved-views.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { USAGE_TEXT as TEXT } from '../messages/usage.ts'
import { buttonClass } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { useNow } from '../ui/format/time.tsx'
import { Page } from '../ui/layout/page.tsx'
import { Tabs } from '../ui/layout/tabs.tsx'

// Below the first figures, or on a tab of its own.
const UsageLatency = lazyPart(
  () => import('../features/usage/usage-latency.tsx').then(({ UsageLatency }) => UsageLatency),
  {
    fallback: () => <Loading rows={6} />,
  },
)
const UsageModels = lazyPart(
  () => import('../features/usage/usage-models.tsx').then(({ UsageModels }) => UsageModels),
  {
    fallback: () => <Loading rows={6} />,
  },
)
const UsageRequests = lazyPart(
  () => import('../features/usage/usage-requests.tsx').then(({ UsageRequests }) => UsageRequests),
  {
    fallback: () => <Loading rows={6} />,
  },
)

const UsageErrors = lazyPart(
  () => import('../features/usage/usage-errors.tsx').then(({ UsageErrors }) => UsageErrors),
  {
    fallback: () => <Loading rows={6} />,
  },
)

const TABS = [
  { value: 'chart', text: TEXT.chart },
  { value: 'models', text: TEXT.models },
  { value: 'latency', text: TEXT.latency },
  { value: 'errors', text: TEXT.errors },
  { value: 'requests', text: TEXT.log },
] as const

/** Usage and cost of a period by key, endpoint, status or model, the tokens of models, and all requests. */
export function Usage() {
  const view = useSearch({ from: '/shell/usage' })
  const navigate = useNavigate({ from: '/usage' })
  const span = viewSpan(view, useNow())
  const onView = (part: Partial<UsageView>) =>
    void navigate({ search: (before) => ({ ...before, ...part }), replace: isTyped(part) })
  const filter = viewFilter(view)
  const logFilter = span && { ...filter, search: view.search, from: rfc3339(span.start), to: rfc3339(span.end) }
  return (
    <Page
      title={SHELL_TEXT.pagesOf.usage}
      actions={
        <>
          <SavedViews page="usage" />
          {logFilter && (
            <a href={csvUrl(logFilter)} download className={buttonClass()}>
              <Download size={16} aria-hidden />
              {TEXT.csv}
            </a>
          )}
        </>
      }
    >
      <UsageControls view={view} span={span} onView={onView} />
      {!span || !logFilter ? (
        <p role="status" className="text-muted">
          {TEXT.badSpan}
        </p>
      ) : (
        <>
          <UsageFigures span={span} range={view.range} filter={filter} />
          <Tabs label={TEXT.views} tabs={TABS} chosen={view.tab} onChoose={(tab) => onView({ tab })}>
            <div className="grid gap-6 pt-1">
              {view.tab === 'chart' && <UsageOverTime view={view} span={span} onView={onView} />}
              {view.tab === 'models' && <UsageModels view={view} span={span} onView={onView} />}
              {view.tab === 'latency' && <UsageLatency span={span} filter={filter} />}
              {view.tab === 'errors' && <UsageErrors span={span} filter={filter} onView={onView} />}
              {view.tab === 'requests' && (
                <>
                  <p className="small text-muted">{TEXT.logNote}</p>
                  <UsageRequests
                    filter={logFilter}
                    filtered={isFiltered(view) || view.search !== undefined}
                    onClear={() => onView({ ...NO_FILTER, search: undefined })}
                    onSearch={(search) => onView({ search })}
                  />
                </>
              )}
            </div>
          </Tabs>
        </>
      )}
    </Page>
  )
}

/** Each choice is a step of the history, so that Back undoes it; each letter that is typed is not. */
function isTyped(part: Partial<UsageView>): boolean {
  return !('range' in part) && ['from', 'to', 'search'].some((name) => name in part)
}

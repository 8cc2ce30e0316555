import { useQuery } from '@tanstack/react-query'
import { newestRequestsQuery } from '../api/requests.ts'
import { Attention } from '../features/overview/attention.tsx'
import { FirstSteps } from '../features/overview/first-steps.tsx'
import { OverviewFigures } from '../features/overview/overview-figures.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { Page } from '../ui/layout/page.tsx'

// Below the first figures, or on a tab of its own.
const SpendChart = lazyPart(() => import('../features/overview/spend-chart.tsx').then(({ SpendChart }) => SpendChart), {
  fallback: () => <Loading rows={6} />,
})
const RecentFailures = lazyPart(
  () => import('../features/overview/recent-failures.tsx').then(({ RecentFailures }) => RecentFailures),
  { failure: () => null },
)
const RecentRequests = lazyPart(
  () => import('../features/overview/recent-requests.tsx').then(({ RecentRequests }) => RecentRequests),
  {
    fallback: () => <Loading rows={6} />,
  },
)
const Quickstart = lazyPart(() => import('../features/overview/quickstart.tsx').then(({ Quickstart }) => Quickstart), {
  fallback: () => <Loading rows={6} />,
})

/** What the account has, what it spends, and what needs its owner; for a new one, what to do first. */
export function Overview() {
  const isNew = useQuery(newestRequestsQuery(10)).data?.length === 0
  return (
    <Page title={SHELL_TEXT.pagesOf.overview}>
      <OverviewFigures />
      <FirstSteps />
      {isNew ? <Quickstart /> : <Activity />}
    </Page>
  )
}

function Activity() {
  return (
    <>
      <div className="grid min-w-0 grid-cols-1 gap-6 lg:grid-cols-3">
        <div className="min-w-0 lg:col-span-2">
          <SpendChart />
        </div>
        <Attention />
      </div>
      <RecentFailures />
      <RecentRequests />
    </>
  )
}

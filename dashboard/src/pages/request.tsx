import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { toFailure } from '../api/client/failure.ts'
import { requestQuery } from '../api/requests.ts'
import { useKeyLabels } from '../api/usage.ts'
import { ExplainedRequest } from '../features/request/explained-request.tsx'
import { REQUEST_TEXT as TEXT } from '../messages/requests.ts'
import { Failed } from '../ui/feedback/failure.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { BackLink } from '../ui/layout/back-link.tsx'
import { Page } from '../ui/layout/page.tsx'

/** `/requests/ID`: one request explained. */
export function RequestPage() {
  const { id } = useParams({ from: '/shell/requests/$id' })
  const query = useQuery(requestQuery(id))
  const keyLabel = useKeyLabels()
  const { data, error } = query
  return (
    <div className="grid min-w-0 gap-4">
      <BackLink to="/usage" search={{ tab: 'requests' }}>
        {TEXT.back}
      </BackLink>
      <Page title={TEXT.sheet} lead={<span className="code wrap-anywhere">{id}</span>}>
        {data ? (
          <ExplainedRequest request={data} keyLabel={keyLabel} />
        ) : error ? (
          <Failed failure={toFailure(error)} onRetry={() => void query.refetch()} />
        ) : (
          <Loading rows={6} />
        )}
      </Page>
    </div>
  )
}

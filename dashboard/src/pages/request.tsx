import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { listState } from '../api/client/list-state.ts'
import { requestQuery } from '../api/requests.ts'
import { useKeyLabels } from '../api/usage.ts'
import { ExplainedRequest } from '../features/request/explained-request.tsx'
import { REQUEST_TEXT as TEXT } from '../messages/requests.ts'
import { BackLink } from '../ui/layout/back-link.tsx'
import { DetailPage } from '../ui/layout/detail-page.tsx'
import { Page } from '../ui/layout/page.tsx'

/** `/requests/ID`: one request explained. */
export function RequestPage() {
  const { id } = useParams({ from: '/shell/requests/$id' })
  const query = useQuery(requestQuery(id))
  const keyLabel = useKeyLabels()
  const back = (
    <BackLink to="/usage" search={{ tab: 'requests' }}>
      {TEXT.back}
    </BackLink>
  )
  return (
    <DetailPage back={back} title={TEXT.sheet} data={query.data} {...listState(query)}>
      {(request) => (
        <Page title={TEXT.sheet} lead={<span className="code wrap-anywhere">{id}</span>}>
          <ExplainedRequest request={request} keyLabel={keyLabel} />
        </Page>
      )}
    </DetailPage>
  )
}

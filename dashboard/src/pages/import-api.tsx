import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type ApiDetails, apiQuery } from '../api/apis.ts'
import { listState } from '../api/client/list-state.ts'
import { ImportForm } from '../features/operator/apis/import-form.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { IMPORT_TEXT as TEXT } from '../messages/import-api.ts'
import { BackLink } from '../ui/layout/back-link.tsx'
import { DetailPage } from '../ui/layout/detail-page.tsx'
import { Page } from '../ui/layout/page.tsx'

/** Imports a new API. */
export function ImportNew() {
  return (
    <OperatorOnly title={TEXT.title}>
      <DetailPage back={BACK} title={TEXT.title} data={null} failure={null} onRetry={() => undefined}>
        {() => (
          <Page title={TEXT.title} lead={TEXT.lead}>
            <Form existing={null} />
          </Page>
        )}
      </DetailPage>
    </OperatorOnly>
  )
}

/** Imports the document of an API again. */
export function ImportAgain() {
  const { name } = useParams({ from: '/shell/operator/apis/$name/import' })
  const query = useQuery({ ...apiQuery(name), staleTime: 0 })
  const title = TEXT.againTitle(name)
  return (
    <OperatorOnly title={title}>
      <DetailPage back={BACK} title={title} data={query.data} {...listState(query)}>
        {(api) => (
          <Page title={title} lead={TEXT.againLead}>
            <Form key={name} existing={api} />
          </Page>
        )}
      </DetailPage>
    </OperatorOnly>
  )
}

const BACK = <BackLink to="/operator/apis">{TEXT.allApis}</BackLink>

function Form({ existing }: { existing: ApiDetails | null }) {
  const navigate = useNavigate()
  return (
    <ImportForm
      existing={existing}
      onDone={(name) => void navigate({ to: '/operator/apis/$name', params: { name } })}
    />
  )
}

import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type ApiDetails, apiQuery } from '../api/apis.ts'
import { toFailure } from '../api/client/failure.ts'
import { ImportForm } from '../features/operator/apis/import-form.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { API_TEXT } from '../messages/apis.ts'
import { IMPORT_TEXT as TEXT } from '../messages/import-api.ts'
import { Failed } from '../ui/feedback/failure.tsx'
import { Loading } from '../ui/feedback/states.tsx'
import { BackLink } from '../ui/layout/back-link.tsx'
import { Page } from '../ui/layout/page.tsx'

/** Imports a new API. */
export function ImportNew() {
  return (
    <ImportPage title={TEXT.title} lead={TEXT.lead}>
      <Form existing={null} />
    </ImportPage>
  )
}

/** Imports the document of an API again. */
export function ImportAgain() {
  const { name } = useParams({ from: '/shell/operator/apis/$name/import' })
  const query = useQuery({ ...apiQuery(name), staleTime: 0 })
  const { data, error } = query
  return (
    <ImportPage title={TEXT.againTitle(name)} lead={TEXT.againLead}>
      {data && <Form key={name} existing={data} />}
      {!data && error && <Failed failure={toFailure(error)} onRetry={() => void query.refetch()} />}
      {!data && !error && <Loading />}
    </ImportPage>
  )
}

function Form({ existing }: { existing: ApiDetails | null }) {
  const navigate = useNavigate()
  return (
    <ImportForm
      existing={existing}
      onDone={(name) => void navigate({ to: '/operator/apis/$name', params: { name } })}
    />
  )
}

function ImportPage({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <OperatorOnly title={title}>
      <div className="grid min-w-0 gap-4">
        <BackLink to="/operator/apis">{API_TEXT.back}</BackLink>
        <Page title={title} lead={lead}>
          {children}
        </Page>
      </div>
    </OperatorOnly>
  )
}

import { Link } from '@tanstack/react-router'
import { ApisTable } from '../features/operator/apis/apis-table.tsx'
import { OperatorOnly } from '../features/operator/operator-only.tsx'
import { API_TEXT as TEXT } from '../messages/apis.ts'
import { buttonClass } from '../ui/button.tsx'
import { Page } from '../ui/layout/page.tsx'

/** The APIs that operators sell. */
export function OperatorApis() {
  return (
    <OperatorOnly title={TEXT.title}>
      <Page title={TEXT.title} lead={`${TEXT.lead} ${TEXT.period}`} actions={<ImportLink />}>
        <ApisTable action={<ImportLink />} />
      </Page>
    </OperatorOnly>
  )
}

function ImportLink() {
  return (
    <Link to="/operator/apis/import/new" className={buttonClass('primary')}>
      {TEXT.import}
    </Link>
  )
}

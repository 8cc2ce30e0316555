import { useNavigate, useSearch } from '@tanstack/react-router'
import { CatalogList } from '../features/catalog/catalog-list.tsx'
import { CATALOG_TEXT as TEXT } from '../messages/catalog.ts'
import { Page } from '../ui/layout/page.tsx'
import { PublicLayout } from '../ui/layout/public-layout.tsx'

/** `/catalogue?q=`: everything that is on sale, for everybody. */
export function Catalog({ isSignedIn }: { isSignedIn: boolean }) {
  const { q = '' } = useSearch({ from: '/catalogue' })
  const navigate = useNavigate()
  const page = (
    <Page title={TEXT.title} lead={TEXT.lead}>
      <CatalogList
        search={q}
        isSignedIn={isSignedIn}
        onSearch={(next) => void navigate({ to: '/catalogue', search: next === '' ? {} : { q: next }, replace: true })}
      />
    </Page>
  )
  return isSignedIn ? page : <PublicLayout>{page}</PublicLayout>
}

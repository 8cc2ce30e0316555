import { OverviewFigures } from '../features/overview/overview-figures.tsx'
import { Quickstart } from '../features/overview/quickstart.tsx'
import { Page } from '../ui/page.tsx'
import { SHELL_WORDS } from '../words/shell.ts'

export function Overview() {
  return (
    <Page title={SHELL_WORDS.pagesOf.overview}>
      <OverviewFigures />
      <Quickstart />
    </Page>
  )
}

import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { toApiFailure } from '../api/client/failure.ts'
import { listState } from '../api/client/list-state.ts'
import { markNoticesRead, noticesQuery } from '../api/notices.ts'
import { AlertsCard } from '../features/notices/alerts-card.tsx'
import { NoticesTable } from '../features/notices/notices-table.tsx'
import { NOTICE_TEXT as TEXT } from '../messages/notices.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { Button } from '../ui/button.tsx'
import { toast } from '../ui/feedback/toast.ts'
import { BareCard } from '../ui/layout/card.tsx'
import { Page } from '../ui/layout/page.tsx'

/** `/notices`: what happened to the account, newest first. */
export function Notices() {
  const notices = useInfiniteQuery(noticesQuery)
  const queries = useQueryClient()
  const reading = useMutation({
    mutationFn: markNoticesRead,
    onError: (error) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['notices'] }),
  })
  const rows = notices.data?.pages.flatMap((page) => page.notices)
  const unread = notices.data?.pages[0]?.unread ?? 0
  return (
    <Page
      title={SHELL_TEXT.pagesOf.notices}
      lead={TEXT.lead}
      actions={
        unread > 0 && (
          <Button busy={reading.isPending} onClick={() => reading.mutate()}>
            {TEXT.markRead}
          </Button>
        )
      }
    >
      <AlertsCard />
      <BareCard>
        <NoticesTable state={{ rows, ...listState(notices) }} />
      </BareCard>
    </Page>
  )
}

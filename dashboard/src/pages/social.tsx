import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link2 } from 'lucide-react'
import { useState } from 'react'
import { toApiFailure } from '../api/client/failure.ts'
import { listState } from '../api/client/list-state.ts'
import { SOCIAL, type SocialAccount, socialQuery, unlink } from '../api/social.ts'
import { SocialList } from '../features/social/social-list.tsx'
import { SHELL_TEXT } from '../messages/shell.ts'
import { SOCIAL_TEXT as TEXT } from '../messages/social.ts'
import { useDebounced } from '../ui/browser/use-debounced.ts'
import { Button } from '../ui/button.tsx'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { Empty } from '../ui/feedback/states.tsx'
import { toast } from '../ui/feedback/toast.ts'
import { BareCard } from '../ui/layout/card.tsx'
import { Page } from '../ui/layout/page.tsx'
import { SearchBox } from '../ui/layout/search-box.tsx'

const LinkDialog = lazyPart(() => import('../features/social/link-dialog.tsx').then(({ LinkDialog }) => LinkDialog))
const UnlinkDialog = lazyPart(() =>
  import('../features/social/unlink-dialog.tsx').then(({ UnlinkDialog }) => UnlinkDialog),
)

type Open =
  | { readonly kind: 'link'; readonly account: SocialAccount | null }
  | { readonly kind: 'unlink'; readonly account: SocialAccount }

/** The social accounts of all keys. */
export function Social() {
  const [search, setSearch] = useState('')
  const query = useInfiniteQuery(socialQuery(useDebounced(search)))
  const [open, setOpen] = useState<Open | null>(null)
  const queries = useQueryClient()
  // A pending link is canceled without confirmation, because nothing is lost.
  const cancelling = useMutation({
    mutationFn: (keyId: string) => unlink(keyId),
    onError: (error) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: SOCIAL }),
  })
  const [data] = query.data?.pages ?? []
  const rows = query.data?.pages.flatMap(({ accounts }) => accounts)
  const close = () => setOpen(null)
  return (
    <Page
      title={SHELL_TEXT.pagesOf.social}
      lead={<Lead sandbox={data?.network === 'sandbox'} />}
      actions={
        <Button
          tone="primary"
          disabled={!rows || rows.length === 0}
          onClick={() => setOpen({ kind: 'link', account: null })}
        >
          <Link2 size={16} aria-hidden />
          {TEXT.link}
        </Button>
      }
    >
      {data?.network === null ? (
        <BareCard>
          <Empty>{TEXT.noNetwork}</Empty>
        </BareCard>
      ) : (
        <SocialList
          state={{
            rows,
            ...listState(query),
          }}
          scopes={data?.scopes ?? []}
          tools={
            (search !== '' || query.hasNextPage) && (
              <SearchBox label={TEXT.search} value={search} onSearch={setSearch} />
            )
          }
          actions={{
            link: (account) => setOpen({ kind: 'link', account }),
            unlink: (account) =>
              account.account === null ? cancelling.mutate(account.key.id) : setOpen({ kind: 'unlink', account }),
          }}
        />
      )}
      {open?.kind === 'link' && data && rows && (
        <LinkDialog scopes={data.scopes} keys={rows.map(({ key }) => key)} chosen={open.account} onClose={close} />
      )}
      {open?.kind === 'unlink' && <UnlinkDialog account={open.account} onClose={close} />}
    </Page>
  )
}

function Lead({ sandbox }: { sandbox: boolean }) {
  return (
    <p>
      {TEXT.lead}{' '}
      {sandbox && (
        <>
          {TEXT.sandbox}{' '}
          <a href="/sandbox/social" target="_blank" rel="noopener" className="text-accent underline">
            {TEXT.timeline}
          </a>
        </>
      )}
    </p>
  )
}

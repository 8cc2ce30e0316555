import { Link, type LinkProps } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import type { ReactNode } from 'react'

/** The link above a page of details, to the page that lists it. */
export function BackLink({ children, ...link }: LinkProps & { children: ReactNode }) {
  return (
    <Link {...link} className="inline-flex items-center gap-1 text-accent">
      <ArrowLeft size={16} aria-hidden />
      {children}
    </Link>
  )
}

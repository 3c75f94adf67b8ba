import csv,sys
for f in sys.argv[1:]:
    rows=list(csv.reader(open(f))); h=rows[1]; rows=rows[2:]; ix={n:i for i,n in enumerate(h)}
    g=lambda i,s: float(rows[i][ix[s]] or 0)
    ff=[i for i in range(len(rows)) if 'FFMA' in rows[i][1] and g(i,'Instructions Executed')>1e5]
    m=max(g(i,'Instructions Executed') for i in ff)
    loop=[i for i in range(ff[0]-30,ff[-1]+1) if g(i,'Instructions Executed')>.45*m and g(i,'Instructions Executed')<1.1*m]
    N=sum(1 for i in loop if 'FFMA' in rows[i][1])
    S=[s for s in ix if s.startswith('stall_')]
    per={s:sum(g(i,s) for i in loop) for s in S}
    allper={s:sum(g(i,s) for i in range(len(rows))) for s in S}
    sel=per['stall_selected']; base=[s for s in S if 'Not' not in s]
    tot=sum(per[s] for s in base)
    print(f, 'instrs',len(loop),'FFMA',N,'loop share of all samples %.3f'%(tot/sum(allper[s] for s in base)))
    print('  per issue:', {k[6:]:round(v/sel,4) for k,v in sorted(per.items(),key=lambda x:-x[1])[:14]})
    for s in ('stall_dispatch','stall_no_inst','stall_wait','stall_branch_resolving','stall_long_sb','stall_short_sb','stall_math'):
        top=sorted(loop,key=lambda i:-g(i,s))[:5]
        print('   ',s, [(i,rows[i][1].strip()[:30],int(g(i,s))) for i in top])
    print('   FFMA samples/instr', sel/len(loop))


ü	/host:CPUVpythonÀ„="€”ëÜ" " " @"€Â×/€áë"€„¯_€áë"€Æ†€Êµî+tf_dataÀ„="€­â€‡§"ÀÃ“€ÚÄ	"	train"net/conv/Conv2D:Conv2D"net/relu/Relu:Relu" TFE_Py_ExecuteCancelable" Iterator::Root::Prefetch")%!Iterator::Root::Prefetch::BatchV2*step_num*
_r*
batch_size
ı/device:GPU:0ÌStream #14(Compute)À„="%€Â×/€­â" "8"*regs:32"%€ï¹4€‡§" "8"*regs:32"%€£ÃGÀ–±" "8"*regs:32"€„¯_€­â" "&€Æ†€Î" "8"*regs:32ZStream #15(MemcpyH2D)À„=",€ÚÄ	€’ô"*IteratorGetNext:MemcpyHToD"€ˆŞ¾€›î"void cudnn::kernel"void cutlass::kernel"
Memset"	MemcpyH2D*correlation_id*	tf_op*net/conv/Conv2D:Conv2D*kernel_details*net/relu/Relu:Relu*HD@gradient_tape/net/conv/Conv2DBackpropFilter:Conv2DBackpropFilter*compute_cap_major2
Task Environment

ü	/host:CPUVpythonÀ„="€”ëÜ" " " @"€Â×/€áë"€„¯_€áë"€Æ†€Êµî+tf_dataÀ„="€­â€‡§"ÀÃ“€ÚÄ	"	train"net/conv/Conv2D:Conv2D"net/relu/Relu:Relu" TFE_Py_ExecuteCancelable" Iterator::Root::Prefetch")%!Iterator::Root::Prefetch::BatchV2*step_num*
_r*
batch_size
ï/device:GPU:0ØStream #14(Compute)À„="(€Â×/€­â" "8"8""8"(€ï¹4€‡§" "8"8""8"(€£ÃGÀ–±" "8	"8""8	"€„¯_€­â" ")€Æ†€Î" "8
"8""8
”Stream #15(MemcpyH2D)À„="D€ÚÄ	€’ô" "8"8""8"*size:64 dest:0 async:1"/€ˆŞ¾€›î" "*size:64 dest:0 async:1*TensorFlow OpsÀ„="€Â×/€´‰" $StepsÀ„="€Êµî" "*1"void cudnn::kernel"void cutlass::kernel"
Memset"	MemcpyH2D"net/conv/Conv2D:Conv2D"	1*correlation_id*
annotation*GC?net/conv/Conv2D:Conv2D#shape=(float[8,32,32,3];float[3,3,3,8])#*kernel_details*regs:32 shm:0*is_eager*level 0*net/conv/Conv2D:Conv2D*		net/relu/Relu:Relu*H
D
@gradient_tape/net/conv/Conv2DBackpropFilter:Conv2DBackpropFilter*C?;IteratorGetNext:MemcpyHToD#from=a,to=b#::#edge_name=edge_1#*"IteratorGetNext:MemcpyHToD*memcpy_details*group_id*	step_name*compute_cap_major2
Task Environment
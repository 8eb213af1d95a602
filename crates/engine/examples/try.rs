//! scratch
use caudal_core::plan::*; use caudal_core::units::*; use caudal_engine::*; use std::time::Duration;
fn main(){
 let a:Vec<String>=std::env::args().collect();
 let server=Server::start(ServerOptions{port:0,bind:Some("127.0.0.1".parse().unwrap()),..Default::default()},None).unwrap();
 let t=Target{host:"127.0.0.1".into(),port:server.local().port(),family:None,origin:Origin::default()};
 let mut c=Client::connect(&t,"try",None).unwrap();
 eprintln!("rtt {:?} same {}", c.clock.min_rtt_ns(), c.is_same_machine());
 let udp=a[1]=="udp";
 let plan=TrafficPlan{transport: if udp {Transport::Udp}else{Transport::Tcp},directions: match a[2].as_str(){"up"=>Directions::Up,"down"=>Directions::Down,_=>Directions::Both},parallel:a[3].parse().unwrap(),
  end: if a[4].ends_with('s'){End::Time(parse_duration(&a[4]).unwrap())}else{End::Bytes(a[4].parse().unwrap())},interval:Duration::from_millis(500),omit:Omit::Nothing,
  rate: if a[5]=="max"{Rate::Max}else{Rate::Limit(a[5].parse().unwrap())},length:a[6].parse::<ByteCount>().unwrap().get() as u32,window:None,mss:None,congestion:Some("cubic".into()).filter(|_|!udp),no_delay:false,dscp:None,mptcp:false,
  discard:a.iter().any(|x|x=="discard"),zero_copy:a.iter().any(|x|x=="zc"),verify:false,same_machine:true};
 let r=c.run(&plan,&Manner::default(),&mut |_|{}).unwrap();
 for f in &r.flows { println!("{:?}\n  S {:?}\n  R {:?}",f.flow,f.sender,f.receiver); if let Some(e)=&f.receiver{ if let caudal_core::sample::Counters::Receiver(c)=e.counters { println!("goodput {:.3} Gbit/s", c.bytes as f64*8.0/(c.last_ns as f64)); if let Some(s)=&e.sequence{println!("lost {} of {}",s.lost,s.expected)} } } }
 println!("cut {:?} usage {:?} {:?} samples {}",r.cut_short,r.client_usage,r.server_usage,r.samples.len());
}
